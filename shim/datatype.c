/* datatype.c - MPI's predefined types in a table; other types are queried.
 *
 * Idea       A row of the table contains the class of a type, and the corresponding tutti type, if
 *            one has the same size on this machine.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "datatype.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 512, MOST_TYPES = 128, PIECE = 1 << 30 };

static named_type named[MOST_TYPES];
static int nnamed;
static unsigned char places[PLACES]; /* 1 + an index of `named`; 0 if free */

static size_t slot_of(MPI_Datatype type) {
  return (size_t)((uintptr_t)type * UINT64_C(0x9e3779b97f4a7c15) >> 40) % PLACES;
}

void datatype_check(bool takes(const named_type *type)) {
  for (int i = 0; i < nnamed; i++)
    if (named[i].class != CLASS_NONE && !takes(&named[i])) named[i].class = CLASS_NONE;
}

const named_type *datatype_named(MPI_Datatype type) {
  for (size_t i = slot_of(type); places[i]; i = (i + 1) % PLACES)
    if (named[places[i] - 1].handle == type) return &named[places[i] - 1];
  return NULL;
}

static tutti_type integer_of(size_t size, bool is_signed) {
  switch (size) {
    case 1: return is_signed ? TUTTI_INT8 : TUTTI_UINT8;
    case 2: return is_signed ? TUTTI_INT16 : TUTTI_UINT16;
    case 4: return is_signed ? TUTTI_INT32 : TUTTI_UINT32;
    case 8: return is_signed ? TUTTI_INT64 : TUTTI_UINT64;
    default: return TUTTI_TYPE_COUNT;
  }
}

static tutti_type real_of(size_t size) {
  return size == sizeof(float)    ? TUTTI_FLOAT
         : size == sizeof(double) ? TUTTI_DOUBLE
                                  : TUTTI_TYPE_COUNT;
}

static tutti_type complex_of(size_t size) {
  return size == 8 ? TUTTI_COMPLEX_FLOAT : size == 16 ? TUTTI_COMPLEX_DOUBLE : TUTTI_TYPE_COUNT;
}

/* The relation between a row's type and a tutti type. */
typedef enum alike { LIKE_NONE, LIKE_INT, LIKE_UNSIGNED, LIKE_REAL, LIKE_COMPLEX, LIKE_PAIR } alike;

static void add(MPI_Datatype type, type_class class, alike like, tutti_type pair) {
  MPI_Count size = 0;
  MPI_Aint lower = 0, extent = 0;
  if (!type || type == MPI_DATATYPE_NULL || datatype_named(type) || nnamed == MOST_TYPES) return;
  if (next()->Type_size_x(type, &size) || size <= 0) return; /* this MPI lacks the type */
  next()->Type_get_extent(type, &lower, &extent);
  named_type *t = &named[nnamed++];
  *t = (named_type){type, class, TUTTI_TYPE_COUNT, (size_t)size, extent};
  if (like == LIKE_INT || like == LIKE_UNSIGNED) t->type = integer_of(t->size, like == LIKE_INT);
  if (like == LIKE_REAL) t->type = real_of(t->size);
  if (like == LIKE_COMPLEX) t->type = complex_of(t->size);
  if (like == LIKE_PAIR && (size_t)extent == tutti_type_size(pair)) t->type = pair;
  size_t i = slot_of(type);
  while (places[i]) i = (i + 1) % PLACES;
  places[i] = (unsigned char)nnamed;
}

void datatype_begin(void) {
#define T(class, like, type) add(MPI_##type, CLASS_##class, LIKE_##like, TUTTI_TYPE_COUNT);
#define P(type, pair)        add(MPI_##type, CLASS_PAIR, LIKE_PAIR, TUTTI_##pair);
#include "datatypes.def"
}

/* ---- types that are not predefined ---- */

/* Returns true if the program created the type, so that it must also free it. */
static bool is_derived(MPI_Datatype type) {
  int ints, addresses, types, combiner = MPI_COMBINER_NAMED;
  if (next()->Type_get_envelope(type, &ints, &addresses, &types, &combiner)) return false;
  return combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
         combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER;
}

/* Returns true if the elements of a type are ordered by address. The type must be dense. */
static bool in_order(MPI_Datatype type) {
  int ints = 0, addresses = 0, types = 0, combiner = MPI_UNDEFINED, count = 0;
  MPI_Aint address = 0;
  MPI_Datatype inner;
  if (datatype_named(type)) return true;
  if (next()->Type_get_envelope(type, &ints, &addresses, &types, &combiner)) return false;
  if (combiner == MPI_COMBINER_NAMED) return true;
  if (combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_CONTIGUOUS) return false;
  if (ints > 1 || addresses > 1 || types != 1) return false;
  if (next()->Type_get_contents(type, ints, addresses, types, &count, &address, &inner))
    return false;
  const bool is = in_order(inner);
  if (!datatype_named(inner) && is_derived(inner)) next()->Type_free(&inner);
  return is;
}

bool datatype_layout(MPI_Datatype type, layout *l) {
  const named_type *known = datatype_named(type);
  if (known) {
    const bool dense = (MPI_Aint)known->size == known->extent;
    *l = (layout){known->size, 0, known->extent, dense, dense};
    return true;
  }
  MPI_Count size = 0;
  MPI_Aint lower, true_lower, true_extent;
  if (type == MPI_DATATYPE_NULL || next()->Type_size_x(type, &size) || size < 0) return false;
  if (next()->Type_get_extent(type, &lower, &l->extent) ||
      next()->Type_get_true_extent(type, &true_lower, &true_extent))
    return false;
  l->size = (size_t)size;
  l->lower = true_lower;
  l->dense = size == true_extent && size == l->extent;
  l->plain = l->dense && in_order(type);
  return true;
}

/* ---- pack and unpack ---- */

/* Returns the number of elements that can be passed to MPI in one call, because their total size fits in an int. Returns at
 * least 1. */
static size_t at_once(size_t left, const layout *l) {
  const size_t most = l->size && l->size < PIECE ? PIECE / l->size : 1;
  return left < most ? left : most;
}

/* Creates a datatype of `size` consecutive bytes, whose messages match any other type. */
static int packed_type(size_t size, MPI_Datatype *type) {
  const int n = (int)((size + PIECE - 1) / PIECE);
  int *lengths = malloc((size_t)n * sizeof *lengths);
  MPI_Aint *at = malloc((size_t)n * sizeof *at);
  int error = lengths && at ? MPI_SUCCESS : MPI_ERR_NO_MEM;
  for (int i = 0; i < n && !error; i++) {
    at[i] = (MPI_Aint)i * PIECE;
    lengths[i] = (int)(i < n - 1 ? (size_t)PIECE : size - (size_t)at[i]);
  }
  if (!error) error = next()->Type_create_hindexed(n, lengths, at, MPI_PACKED, type);
  if (!error) error = next()->Type_commit(type);
  free(lengths);
  free(at);
  return error;
}

/* Packs or unpacks one element that is too large for the counts of MPI_Pack. Sends it to this rank itself, on a new
 * communicator. */
static int convert_huge(bool into, void *at, MPI_Datatype type, char *bytes, size_t size) {
  static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
  MPI_Datatype packed;
  MPI_Comm own;
  int error = packed_type(size, &packed);
  if (error) return error;
  pthread_mutex_lock(&one_at_a_time);
  error = next()->net.Comm_split(MPI_COMM_SELF, 0, 0, &own);
  pthread_mutex_unlock(&one_at_a_time);
  if (!error) {
    error =
        into ? next()->Sendrecv(at, 1, type, 0, 0, bytes, 1, packed, 0, 0, own, MPI_STATUS_IGNORE)
             : next()->Sendrecv(bytes, 1, packed, 0, 0, at, 1, type, 0, 0, own, MPI_STATUS_IGNORE);
    next()->Comm_free(&own);
  }
  next()->Type_free(&packed);
  return error;
}

/* Packs all elements into `bytes`, or unpacks them. */
static int convert(bool into, void *at, size_t count, MPI_Datatype type, const layout *l,
                   char *bytes, MPI_Comm comm) {
  for (size_t n; count; count -= n) {
    n = at_once(count, l);
    int position = 0;
    const size_t some = n * l->size;
    const bool huge = some > INT_MAX;
    const int error = huge   ? convert_huge(into, at, type, bytes, some)
                      : into ? next()->Pack(at, (int)n, type, bytes, (int)some, &position, comm)
                             : next()->Unpack(bytes, (int)some, &position, at, (int)n, type, comm);
    if (error) return error;
    if (!huge && (size_t)position != some) return MPI_ERR_INTERN;
    at = (char *)at + (MPI_Aint)n * l->extent;
    bytes += some;
  }
  return MPI_SUCCESS;
}

/* MPICH's MPI_Pack rejects MPI_BOTTOM. Instead, the caller passes the start address of the type, and a type that is
 * shifted back by the same distance. */
static int convert_from_bottom(bool into, size_t count, MPI_Datatype type, const layout *l,
                               char *bytes, MPI_Comm comm) {
  const int one = 1;
  const MPI_Aint back = -l->lower;
  MPI_Datatype moved;
  int error = next()->Type_create_hindexed(1, &one, &back, type, &moved);
  if (error) return error;
  error = next()->Type_commit(&moved);
  if (!error) error = convert(into, datatype_start(NULL, l), count, moved, l, bytes, comm);
  next()->Type_free(&moved);
  return error;
}

int datatype_pack(const void *from, size_t count, MPI_Datatype type, const layout *l, char *bytes,
                  MPI_Comm comm) {
  if (!count || !l->size) return MPI_SUCCESS;
  if (l->plain) memcpy(bytes, datatype_start(from, l), count * l->size);
  if (l->plain) return MPI_SUCCESS;
  if (!from) return convert_from_bottom(true, count, type, l, bytes, comm);
  return convert(true, (void *)(uintptr_t)from, count, type, l, bytes, comm);
}

int datatype_unpack(char *bytes, void *to, size_t count, MPI_Datatype type, const layout *l,
                    MPI_Comm comm) {
  if (!count || !l->size) return MPI_SUCCESS;
  if (l->plain) memcpy(datatype_start(to, l), bytes, count * l->size);
  if (l->plain) return MPI_SUCCESS;
  if (!to) return convert_from_bottom(false, count, type, l, bytes, comm);
  return convert(false, to, count, type, l, bytes, comm);
}
