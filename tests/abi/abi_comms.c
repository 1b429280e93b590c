/* abi_comms.c - begin and end, errors, communicators and groups of the test's libmpi_abi.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "translate.h"

ENTRY(Init, int *argc, char ***argv) {
  return CALL(Init, argc, argv);
}
ENTRY(Init_thread, int *argc, char ***argv, int required, int *provided) {
  const int code = CALL(Init_thread, argc, argv, to_level(required), provided);
  *provided = from_level(*provided);
  return code;
}
ENTRY(Initialized, int *flag) {
  return CALL(Initialized, flag);
}
ENTRY(Finalize, void) {
  return CALL(Finalize);
}
ENTRY(Finalized, int *flag) {
  return CALL(Finalized, flag);
}
ENTRY(Abort, ABI_Comm comm, int error) {
  return CALL(Abort, to(comm), error);
}
ENTRY(Query_thread, int *provided) {
  const int code = CALL(Query_thread, provided);
  *provided = from_level(*provided);
  return code;
}
ENTRY(Is_thread_main, int *flag) {
  return CALL(Is_thread_main, flag);
}
ENTRY(Get_library_version, char *version, int *length) {
  static const char own[] = "a translation of the MPI ABI to MPICH, for tests";
  memcpy(version, own, sizeof own);
  *length = sizeof own - 1;
  return ABI_SUCCESS;
}
ENTRY(Get_processor_name, char *name, int *length) {
  return CALL(Get_processor_name, name, length);
}
/* ABI_MAJOR simulates an MPI with another ABI. */
ENTRY(Abi_get_version, int *major, int *minor) {
  const char *other = getenv("ABI_MAJOR");
  *major = other ? atoi(other) : ABI_ABI_VERSION;
  *minor = ABI_ABI_SUBVERSION;
  return ABI_SUCCESS;
}
ENTRY_OF(double, Wtime, void) {
  return THEIRS(Wtime)();
}

/* ---- errors ---- */

ENTRY(Error_class, int code, int *class) {
  const int error = CALL(Error_class, to_error(code), class);
  *class = from_error(*class);
  return error;
}
ENTRY(Error_string, int code, char *string, int *length) {
  return CALL(Error_string, to_error(code), string, length);
}
ENTRY(Add_error_class, int *class) {
  return CALL(Add_error_class, class);
}
ENTRY(Add_error_code, int class, int *code) {
  return CALL(Add_error_code, to_error(class), code);
}
ENTRY(Add_error_string, int code, const char *string) {
  return CALL(Add_error_string, code, string);
}
ENTRY(Comm_call_errhandler, ABI_Comm comm, int code) {
  return CALL(Comm_call_errhandler, to(comm), to_error(code));
}
ENTRY(Comm_get_errhandler, ABI_Comm comm, ABI_Errhandler *errhandler) {
  MPI_Errhandler theirs = MPI_ERRHANDLER_NULL;
  const int code = CALL(Comm_get_errhandler, to(comm), &theirs);
  *errhandler = from(theirs);
  return code;
}
ENTRY(Comm_set_errhandler, ABI_Comm comm, ABI_Errhandler errhandler) {
  return CALL(Comm_set_errhandler, to(comm), to(errhandler));
}
ENTRY(Errhandler_free, ABI_Errhandler *errhandler) {
  MPI_Errhandler theirs = to(*errhandler);
  const int code = CALL(Errhandler_free, &theirs);
  *errhandler = from(theirs);
  return code;
}

/* ---- communicators: `out` is set if the call succeeds ---- */

#define MAKE(name, ...)                            \
  MPI_Comm made = MPI_COMM_NULL;                   \
  const int code = CALL(name, __VA_ARGS__, &made); \
  if (code == ABI_SUCCESS) *out = from(made);      \
  return code

ENTRY(Comm_rank, ABI_Comm comm, int *rank) {
  return CALL(Comm_rank, to(comm), rank);
}
ENTRY(Comm_size, ABI_Comm comm, int *size) {
  return CALL(Comm_size, to(comm), size);
}
ENTRY(Comm_compare, ABI_Comm a, ABI_Comm b, int *result) {
  const int code = CALL(Comm_compare, to(a), to(b), result);
  *result = *result == MPI_IDENT       ? ABI_IDENT
            : *result == MPI_CONGRUENT ? ABI_CONGRUENT
            : *result == MPI_SIMILAR   ? ABI_SIMILAR
                                       : ABI_UNEQUAL;
  return code;
}
ENTRY(Comm_test_inter, ABI_Comm comm, int *flag) {
  return CALL(Comm_test_inter, to(comm), flag);
}
ENTRY(Comm_dup, ABI_Comm comm, ABI_Comm *out) {
  MAKE(Comm_dup, to(comm));
}
ENTRY(Comm_dup_with_info, ABI_Comm comm, ABI_Info info, ABI_Comm *out) {
  MAKE(Comm_dup_with_info, to(comm), to(info));
}
/* MPICH 4.0 returns the new communicator immediately, although it is not usable before the request completes. */
ENTRY(Comm_idup, ABI_Comm comm, ABI_Comm *out, ABI_Request *request) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request theirs = MPI_REQUEST_NULL;
  const int code = CALL(Comm_idup, to(comm), &made, &theirs);
  *out = from(made);
  *request = from(theirs);
  return code;
}
ENTRY(Comm_split, ABI_Comm comm, int color, int key, ABI_Comm *out) {
  MAKE(Comm_split, to(comm), color, key);
}
ENTRY(Comm_split_type, ABI_Comm comm, int type, int key, ABI_Info info, ABI_Comm *out) {
  int rank = 0; /* simulates MPICH 5 over UCX: no two ranks share memory */
  if (type != ABI_COMM_TYPE_SHARED) {
    MAKE(Comm_split_type, to(comm), type, key, to(info));
  }
  THEIRS(Comm_rank)(to(comm), &rank);
  MAKE(Comm_split, to(comm), rank, key);
}
ENTRY(Comm_create, ABI_Comm comm, ABI_Group group, ABI_Comm *out) {
  MAKE(Comm_create, to(comm), to(group));
}
ENTRY(Comm_create_group, ABI_Comm comm, ABI_Group group, int tag, ABI_Comm *out) {
  MAKE(Comm_create_group, to(comm), to(group), tag);
}
ENTRY(Intercomm_create, ABI_Comm mine, int leader, ABI_Comm bridge, int other, int tag,
      ABI_Comm *out) {
  MAKE(Intercomm_create, to(mine), leader, to(bridge), other, tag);
}
ENTRY(Intercomm_merge, ABI_Comm comm, int high, ABI_Comm *out) {
  MAKE(Intercomm_merge, to(comm), high);
}
ENTRY(Cart_create, ABI_Comm comm, int n, const int dims[], const int periods[], int reorder,
      ABI_Comm *out) {
  MAKE(Cart_create, to(comm), n, dims, periods, reorder);
}
ENTRY(Cart_sub, ABI_Comm comm, const int remain[], ABI_Comm *out) {
  MAKE(Cart_sub, to(comm), remain);
}
ENTRY(Graph_create, ABI_Comm comm, int n, const int ends[], const int edges[], int reorder,
      ABI_Comm *out) {
  MAKE(Graph_create, to(comm), n, ends, edges, reorder);
}
ENTRY(Dist_graph_create, ABI_Comm comm, int n, const int sources[], const int degrees[],
      const int targets[], const int weights[], ABI_Info info, int reorder, ABI_Comm *out) {
  MAKE(Dist_graph_create, to(comm), n, sources, degrees, targets, to_weights(weights), to(info),
       reorder);
}
ENTRY(Dist_graph_create_adjacent, ABI_Comm comm, int nfrom, const int sources[],
      const int from_weights[], int nto, const int targets[], const int weights[], ABI_Info info,
      int reorder, ABI_Comm *out) {
  MAKE(Dist_graph_create_adjacent, to(comm), nfrom, sources, to_weights(from_weights), nto, targets,
       to_weights(weights), to(info), reorder);
}
ENTRY(Comm_free, ABI_Comm *comm) {
  MPI_Comm theirs = to(*comm);
  const int code = CALL(Comm_free, &theirs);
  *comm = from(theirs);
  return code;
}
ENTRY(Comm_disconnect, ABI_Comm *comm) {
  MPI_Comm theirs = to(*comm);
  const int code = CALL(Comm_disconnect, &theirs);
  *comm = from(theirs);
  return code;
}
ENTRY(Comm_free_keyval, int *key) {
  return CALL(Comm_free_keyval, key);
}
ENTRY(Comm_get_attr, ABI_Comm comm, int key, void *value, int *flag) {
  return CALL(Comm_get_attr, to(comm), key == ABI_TAG_UB ? MPI_TAG_UB : key, value, flag);
}
ENTRY(Comm_set_attr, ABI_Comm comm, int key, void *value) {
  return CALL(Comm_set_attr, to(comm), key, value);
}

/* ---- groups ---- */

#define MAKE_GROUP(name, ...)                      \
  MPI_Group made = MPI_GROUP_NULL;                 \
  const int code = CALL(name, __VA_ARGS__, &made); \
  if (code == ABI_SUCCESS) *out = from(made);      \
  return code

ENTRY(Comm_group, ABI_Comm comm, ABI_Group *out) {
  MAKE_GROUP(Comm_group, to(comm));
}
ENTRY(Group_incl, ABI_Group group, int n, const int list[], ABI_Group *out) {
  MAKE_GROUP(Group_incl, to(group), n, list);
}
ENTRY(Group_excl, ABI_Group group, int n, const int list[], ABI_Group *out) {
  MAKE_GROUP(Group_excl, to(group), n, list);
}
ENTRY(Group_range_incl, ABI_Group group, int n, int ranges[][3], ABI_Group *out) {
  MAKE_GROUP(Group_range_incl, to(group), n, ranges);
}
ENTRY(Group_free, ABI_Group *group) {
  MPI_Group theirs = to(*group);
  const int code = CALL(Group_free, &theirs);
  *group = from(theirs);
  return code;
}
ENTRY(Group_translate_ranks, ABI_Group a, int n, const int list[], ABI_Group b, int out[]) {
  int *theirs = room(n, sizeof *theirs);
  for (int i = 0; i < n; i++) theirs[i] = to_rank(list[i]);
  const int code = CALL(Group_translate_ranks, to(a), n, theirs, to(b), out);
  for (int i = 0; i < n; i++) out[i] = from_rank(out[i]);
  free(theirs);
  return code;
}
