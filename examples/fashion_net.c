/* fashion_net.c - a multilayer perceptron, 784-256-128-10, written in plain C.
 *
 * Idea      Every layer is one matrix product. The bias is one more column of
 *           the weights, and every activation row ends with a constant 1, so
 *           that biases need no separate code, forward or backward.
 * Forward   out   = bend(input * w^T), the last layer without bend
 * Backward  g     = delta^T * input                    the layer's gradient
 *           delta = (delta * w) * bend'(...)           for the layer below
 * Bend      is relu with its corner rounded off, (z + sqrt(z^2 + 1)) / 2 (Barron,
 *           "Squareplus", 2021). With a corner, one rounding error that moves a z
 *           across 0 changes the training for good, and runs on 1 and on 4 ranks
 *           soon differ too much to compare; without it, they agree to the last digits.
 * This file is independent of the other ranks. It processes this rank's part of the batch.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fashion.h"

static const int width[LAYERS + 1] = {PIXELS, 256, 128, CLASSES};

enum { PIECE_COUNT = 50000 }; /* approximate number of weights in a piece */
static const float MOMENTUM = 0.9f, DECAY = 1e-4f;
static const float PIXEL_MEAN = 0.286f, PIXEL_SPREAD = 0.353f; /* of the training set */

static double uniform(uint64_t *seed) {
  return ((double)(random_bits(seed) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *seed) {
  double r = sqrt(-2 * log(uniform(seed)));
  return r * cos(2 * 3.14159265358979323846 * uniform(seed));
}

/* He's initialisation: variance 2 / inputs, biases 0. */
static void layer_init(net_layer *l, int in, int out, int rows, uint64_t *seed) {
  int pieces = out * (in + 1) / PIECE_COUNT;
  l->in = in;
  l->out = out;
  l->pieces = pieces < 1 ? 1 : pieces > MAX_PIECES ? MAX_PIECES : pieces;
  l->count = (size_t)out * (size_t)(in + 1);
  l->w = room(l->count, sizeof(float));
  l->v = room(l->count, sizeof(float));
  l->input = room((size_t)rows * (size_t)(in + 1), sizeof(float));
  l->delta = room((size_t)rows * (size_t)out, sizeof(float));
  for (int o = 0; o < out; o++)
    for (int i = 0; i < in; i++) l->w[o * (in + 1) + i] = (float)(normal(seed) * sqrt(2.0 / in));
  for (int r = 0; r < rows; r++) l->input[r * (in + 1) + in] = 1;
}

void net_init(net *n, int rows, uint64_t seed) {
  n->rows = rows;
  for (int l = 0; l < LAYERS; l++) layer_init(&n->layers[l], width[l], width[l + 1], rows, &seed);
  n->logits = room((size_t)rows * (CLASSES + 1), sizeof(float));
}

void net_free(net *n) {
  for (int l = 0; l < LAYERS; l++) {
    free(n->layers[l].w);
    free(n->layers[l].v);
    free(n->layers[l].input);
    free(n->layers[l].delta);
  }
  free(n->logits);
}

static int piece_row(const net_layer *l, int piece) {
  return l->out * piece / l->pieces;
}

size_t net_piece_begin(const net_layer *l, int piece) {
  return (size_t)piece_row(l, piece) * (size_t)(l->in + 1);
}

void net_set_input(net *n, int row, const uint8_t *pixels) {
  float *to = n->layers[0].input + (size_t)row * (PIXELS + 1);
  const float scale = 1 / (255 * PIXEL_SPREAD), shift = PIXEL_MEAN / PIXEL_SPREAD;
  for (int i = 0; i < PIXELS; i++) to[i] = (float)pixels[i] * scale - shift;
}

static float bend(float z) {
  return 0.5f * (z + sqrtf(z * z + 1));
}
/* Returns the slope of bend, given its result. */
static float bend_slope(float out) {
  return out * out / (out * out + 0.25f);
}

void net_forward(net *n, int l, int rows) {
  net_layer *y = &n->layers[l];
  bool last = l == LAYERS - 1;
  float *out = last ? n->logits : n->layers[l + 1].input;
  int wide = y->in + 1, stride = y->out + 1;
  if (rows == 0) return;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, y->out, wide, 1, y->input, wide, y->w,
              wide, 0, out, stride);
  if (last) return;
  for (int r = 0; r < rows; r++) {
    float *z = out + r * stride;
    for (int o = 0; o < y->out; o++) z[o] = bend(z[o]);
  }
}

double net_loss(net *n, const uint8_t *labels, int rows, int batch) {
  double loss = 0;
  for (int r = 0; r < rows; r++) {
    const float *z = n->logits + r * (CLASSES + 1);
    float *delta = n->layers[LAYERS - 1].delta + r * CLASSES;
    float top = z[0];
    double sum = 0, e[CLASSES];
    for (int c = 1; c < CLASSES; c++) top = fmaxf(top, z[c]);
    for (int c = 0; c < CLASSES; c++) sum += e[c] = exp((double)z[c] - top);
    for (int c = 0; c < CLASSES; c++)
      delta[c] = (float)((e[c] / sum - (c == labels[r] ? 1 : 0)) / batch);
    loss += log(sum) - ((double)z[labels[r]] - top);
  }
  return loss;
}

void net_gradient(net *n, int l, int piece, int rows) {
  net_layer *y = &n->layers[l];
  int begin = piece_row(y, piece), end = piece_row(y, piece + 1), wide = y->in + 1;
  float *g = y->g + net_piece_begin(y, piece);
  if (rows == 0) /* if there are fewer pictures than ranks */
    memset(g, 0, (size_t)(end - begin) * (size_t)wide * sizeof *g);
  else
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, end - begin, wide, rows, 1,
                y->delta + begin, y->out, y->input, wide, 0, g, wide);
}

void net_backward(net *n, int l, int rows) {
  net_layer *y = &n->layers[l];
  float *below = n->layers[l - 1].delta;
  int wide = y->in + 1;
  if (rows == 0) return;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, y->in, y->out, 1, y->delta, y->out,
              y->w, wide, 0, below, y->in);
  for (int r = 0; r < rows; r++) {
    const float *out = y->input + r * wide;
    float *delta = below + r * y->in;
    for (int i = 0; i < y->in; i++) delta[i] *= bend_slope(out[i]);
  }
}

void net_update(net *n, int l, int piece, float rate) {
  net_layer *y = &n->layers[l];
  size_t end = net_piece_begin(y, piece + 1);
  for (size_t i = net_piece_begin(y, piece); i < end; i++) {
    y->v[i] = MOMENTUM * y->v[i] + y->g[i] + DECAY * y->w[i];
    y->w[i] -= rate * y->v[i];
  }
}

int net_answer(const net *n, int row) {
  const float *z = n->logits + row * (CLASSES + 1);
  int best = 0;
  for (int c = 1; c < CLASSES; c++)
    if (z[c] > z[best]) best = c;
  return best;
}

uint64_t net_checksum(const net *n) {
  uint64_t sum = 14695981039346656037u; /* FNV-1a */
  for (int l = 0; l < LAYERS; l++) {
    const uint8_t *b = (const uint8_t *)n->layers[l].w;
    for (size_t i = 0; i < n->layers[l].count * sizeof(float); i++)
      sum = (sum ^ b[i]) * 1099511628211u;
  }
  return sum;
}
