/* cusim_pointers.c - cuPointerGetAttribute and its plural: the simulated driver's information about an address.
 *
 * Idea       There is a row for each attribute: its size, and its value for an allocation. For an unknown
 *            address, the plural stores empty values, and the singular returns an error.
 * Source     NVIDIA's reference of the driver API, Unified Addressing.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cusim.h"

/* Stores the value of an attribute, of 4 or 8 bytes. Returns its size, or 0 if the attribute is not simulated. */
static size_t value_of(const cusim_alloc *a, int attribute, uint64_t *value) {
  const bool device =
      a && (a->kind == KIND_DEVICE || a->kind == KIND_IPC || a->kind == KIND_MANAGED);
  *value = 0;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *value = a ? (uintptr_t)cusim_context_of(a->ctx) : 0;
      return 8;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *value = !a ? 0 : device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      return 4;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *value = a ? a->id : 0; return 8;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *value = a && a->kind == KIND_MANAGED; return 4;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *value = (uint32_t)(a ? a->device : -2); return 4;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *value = a && a->kind == KIND_DEVICE && cusim.ipc;
      return 4;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *value = a ? a->at : 0; return 8;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *value = a ? a->bytes : 0; return 8;
    default: return 0;
  }
}

static CUresult put_attribute(void *to, const cusim_alloc *a, int attribute) {
  uint64_t value;
  const size_t bytes = value_of(a, attribute, &value);
  const uint32_t narrow = (uint32_t)value;
  if (!bytes) cusim_say("pointer attribute %d is not simulated", attribute);
  if (!to || !bytes) return CUDA_ERROR_INVALID_VALUE;
  memcpy(to, bytes == 4 ? (const void *)&narrow : &value, bytes);
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr at) {
  CUresult why = cusim_begin(CALL_cuPointerGetAttribute, NULL);
  if (why) return why;
  const cusim_alloc *a = cusim_find(at);
  return cusim_end(a ? put_attribute(value, a, attribute) : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuPointerGetAttributes(unsigned n, int *attributes, void **values, CUdeviceptr at) {
  CUresult why = cusim_begin(CALL_cuPointerGetAttributes, NULL);
  if (why) return why;
  const cusim_alloc *a = cusim_find(at);
  for (unsigned i = 0; i < n && !why; i++) why = put_attribute(values[i], a, attributes[i]);
  return cusim_end(why);
}
