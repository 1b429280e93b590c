/* as_ompi.h - the part of the binary interface of Open MPI 4 and 5 that tutti uses; mpi.h includes
 * it for TUTTI_FOR_OMPI.
 *
 * Idea       Open MPI's predefined handles are addresses of objects in its library. A library compiled with this header looks
 *            them up by name in the program's MPI (mpi_find_handles), so it can be built and loaded without an MPI.
 * Names      Persistent collectives have the prefix MPIX_ in Open MPI 4.1 and MPI_ in Open MPI 5. All functions are declared
 *            with both prefixes.
 * Invariant  The values are those of Open MPI's mpi.h; tests/sh/abi.sh compares them with an installed one.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_AS_OMPI_H
#define TUTTI_AS_OMPI_H

#include <stddef.h>

#define MPI_VERSION        3
#define MPI_SUBVERSION     1
#define OMPI_MAJOR_VERSION 5

/* ---- types ---- */

typedef ptrdiff_t MPI_Aint;
typedef long long MPI_Offset, MPI_Count;

typedef struct ompi_communicator_t *MPI_Comm;
typedef struct ompi_datatype_t *MPI_Datatype;
typedef struct ompi_errhandler_t *MPI_Errhandler;
typedef struct ompi_group_t *MPI_Group;
typedef struct ompi_info_t *MPI_Info;
typedef struct ompi_op_t *MPI_Op;
typedef struct ompi_request_t *MPI_Request;
typedef struct ompi_win_t *MPI_Win;

typedef struct ompi_status_public_t {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
  int _cancelled;
  size_t _ucount;
} MPI_Status;

/* ---- predefined handles, which find.c looks up ---- */

#define TUTTI_LATE_HANDLES
#define H(name) extern void *late_##name;
#include "handles.def"
#define LATE(type, global) ((type)late_##global)

#define MPI_OP_NULL                 LATE(MPI_Op, ompi_mpi_op_null)
#define MPI_SUM                     LATE(MPI_Op, ompi_mpi_op_sum)
#define MPI_MIN                     LATE(MPI_Op, ompi_mpi_op_min)
#define MPI_MAX                     LATE(MPI_Op, ompi_mpi_op_max)
#define MPI_PROD                    LATE(MPI_Op, ompi_mpi_op_prod)
#define MPI_BAND                    LATE(MPI_Op, ompi_mpi_op_band)
#define MPI_BOR                     LATE(MPI_Op, ompi_mpi_op_bor)
#define MPI_BXOR                    LATE(MPI_Op, ompi_mpi_op_bxor)
#define MPI_LAND                    LATE(MPI_Op, ompi_mpi_op_land)
#define MPI_LOR                     LATE(MPI_Op, ompi_mpi_op_lor)
#define MPI_LXOR                    LATE(MPI_Op, ompi_mpi_op_lxor)
#define MPI_MINLOC                  LATE(MPI_Op, ompi_mpi_op_minloc)
#define MPI_MAXLOC                  LATE(MPI_Op, ompi_mpi_op_maxloc)
#define MPI_REPLACE                 LATE(MPI_Op, ompi_mpi_op_replace)
#define MPI_NO_OP                   LATE(MPI_Op, ompi_mpi_op_no_op)

#define MPI_COMM_NULL               LATE(MPI_Comm, ompi_mpi_comm_null)
#define MPI_COMM_WORLD              LATE(MPI_Comm, ompi_mpi_comm_world)
#define MPI_COMM_SELF               LATE(MPI_Comm, ompi_mpi_comm_self)
#define MPI_INFO_NULL               LATE(MPI_Info, ompi_mpi_info_null)
#define MPI_ERRORS_ARE_FATAL        LATE(MPI_Errhandler, ompi_mpi_errors_are_fatal)
#define MPI_ERRORS_ABORT            LATE(MPI_Errhandler, ompi_mpi_errors_abort)
#define MPI_ERRORS_RETURN           LATE(MPI_Errhandler, ompi_mpi_errors_return)
#define MPI_REQUEST_NULL            LATE(MPI_Request, ompi_request_null)

#define MPI_DATATYPE_NULL           LATE(MPI_Datatype, ompi_mpi_datatype_null)
#define MPI_AINT                    LATE(MPI_Datatype, ompi_mpi_aint)
#define MPI_COUNT                   LATE(MPI_Datatype, ompi_mpi_count)
#define MPI_OFFSET                  LATE(MPI_Datatype, ompi_mpi_offset)
#define MPI_PACKED                  LATE(MPI_Datatype, ompi_mpi_packed)
#define MPI_SHORT                   LATE(MPI_Datatype, ompi_mpi_short)
#define MPI_INT                     LATE(MPI_Datatype, ompi_mpi_int)
#define MPI_LONG                    LATE(MPI_Datatype, ompi_mpi_long)
#define MPI_LONG_LONG               LATE(MPI_Datatype, ompi_mpi_long_long_int)
#define MPI_LONG_LONG_INT           MPI_LONG_LONG
#define MPI_UNSIGNED_SHORT          LATE(MPI_Datatype, ompi_mpi_unsigned_short)
#define MPI_UNSIGNED                LATE(MPI_Datatype, ompi_mpi_unsigned)
#define MPI_UNSIGNED_LONG           LATE(MPI_Datatype, ompi_mpi_unsigned_long)
#define MPI_UNSIGNED_LONG_LONG      LATE(MPI_Datatype, ompi_mpi_unsigned_long_long)
#define MPI_FLOAT                   LATE(MPI_Datatype, ompi_mpi_float)
#define MPI_C_FLOAT_COMPLEX         LATE(MPI_Datatype, ompi_mpi_c_float_complex)
#define MPI_CXX_FLOAT_COMPLEX       LATE(MPI_Datatype, ompi_mpi_cxx_cplex)
#define MPI_DOUBLE                  LATE(MPI_Datatype, ompi_mpi_double)
#define MPI_C_DOUBLE_COMPLEX        LATE(MPI_Datatype, ompi_mpi_c_double_complex)
#define MPI_CXX_DOUBLE_COMPLEX      LATE(MPI_Datatype, ompi_mpi_cxx_dblcplex)
#define MPI_LOGICAL                 LATE(MPI_Datatype, ompi_mpi_logical)
#define MPI_INTEGER                 LATE(MPI_Datatype, ompi_mpi_integer)
#define MPI_REAL                    LATE(MPI_Datatype, ompi_mpi_real)
#define MPI_COMPLEX                 LATE(MPI_Datatype, ompi_mpi_cplex)
#define MPI_DOUBLE_PRECISION        LATE(MPI_Datatype, ompi_mpi_dblprec)
#define MPI_DOUBLE_COMPLEX          LATE(MPI_Datatype, ompi_mpi_dblcplex)
#define MPI_CHARACTER               LATE(MPI_Datatype, ompi_mpi_character)
#define MPI_LONG_DOUBLE             LATE(MPI_Datatype, ompi_mpi_long_double)
#define MPI_C_LONG_DOUBLE_COMPLEX   LATE(MPI_Datatype, ompi_mpi_c_long_double_complex)
#define MPI_CXX_LONG_DOUBLE_COMPLEX LATE(MPI_Datatype, ompi_mpi_cxx_ldblcplex)
#define MPI_FLOAT_INT               LATE(MPI_Datatype, ompi_mpi_float_int)
#define MPI_DOUBLE_INT              LATE(MPI_Datatype, ompi_mpi_double_int)
#define MPI_LONG_INT                LATE(MPI_Datatype, ompi_mpi_long_int)
#define MPI_2INT                    LATE(MPI_Datatype, ompi_mpi_2int)
#define MPI_SHORT_INT               LATE(MPI_Datatype, ompi_mpi_short_int)
#define MPI_LONG_DOUBLE_INT         LATE(MPI_Datatype, ompi_mpi_longdbl_int)
#define MPI_2REAL                   LATE(MPI_Datatype, ompi_mpi_2real)
#define MPI_2DOUBLE_PRECISION       LATE(MPI_Datatype, ompi_mpi_2dblprec)
#define MPI_2INTEGER                LATE(MPI_Datatype, ompi_mpi_2integer)
#define MPI_C_BOOL                  LATE(MPI_Datatype, ompi_mpi_c_bool)
#define MPI_CXX_BOOL                LATE(MPI_Datatype, ompi_mpi_cxx_bool)
#define MPI_WCHAR                   LATE(MPI_Datatype, ompi_mpi_wchar)
#define MPI_INT8_T                  LATE(MPI_Datatype, ompi_mpi_int8_t)
#define MPI_UINT8_T                 LATE(MPI_Datatype, ompi_mpi_uint8_t)
#define MPI_CHAR                    LATE(MPI_Datatype, ompi_mpi_char)
#define MPI_SIGNED_CHAR             LATE(MPI_Datatype, ompi_mpi_signed_char)
#define MPI_UNSIGNED_CHAR           LATE(MPI_Datatype, ompi_mpi_unsigned_char)
#define MPI_BYTE                    LATE(MPI_Datatype, ompi_mpi_byte)
#define MPI_INT16_T                 LATE(MPI_Datatype, ompi_mpi_int16_t)
#define MPI_UINT16_T                LATE(MPI_Datatype, ompi_mpi_uint16_t)
#define MPI_INT32_T                 LATE(MPI_Datatype, ompi_mpi_int32_t)
#define MPI_UINT32_T                LATE(MPI_Datatype, ompi_mpi_uint32_t)
#define MPI_INT64_T                 LATE(MPI_Datatype, ompi_mpi_int64_t)
#define MPI_UINT64_T                LATE(MPI_Datatype, ompi_mpi_uint64_t)
#define MPI_LOGICAL1                LATE(MPI_Datatype, ompi_mpi_logical1)
#define MPI_INTEGER1                LATE(MPI_Datatype, ompi_mpi_integer1)
#define MPI_LOGICAL2                LATE(MPI_Datatype, ompi_mpi_logical2)
#define MPI_INTEGER2                LATE(MPI_Datatype, ompi_mpi_integer2)
#define MPI_LOGICAL4                LATE(MPI_Datatype, ompi_mpi_logical4)
#define MPI_INTEGER4                LATE(MPI_Datatype, ompi_mpi_integer4)
#define MPI_REAL4                   LATE(MPI_Datatype, ompi_mpi_real4)
#define MPI_LOGICAL8                LATE(MPI_Datatype, ompi_mpi_logical8)
#define MPI_INTEGER8                LATE(MPI_Datatype, ompi_mpi_integer8)
#define MPI_REAL8                   LATE(MPI_Datatype, ompi_mpi_real8)
#define MPI_COMPLEX8                LATE(MPI_Datatype, ompi_mpi_complex8)
#define MPI_COMPLEX16               LATE(MPI_Datatype, ompi_mpi_complex16)

/* ---- numbers ---- */

enum {
  MPI_SUCCESS = 0,
  MPI_ERR_BUFFER = 1,
  MPI_ERR_COUNT = 2,
  MPI_ERR_TYPE = 3,
  MPI_ERR_TAG = 4,
  MPI_ERR_COMM = 5,
  MPI_ERR_RANK = 6,
  MPI_ERR_REQUEST = 7,
  MPI_ERR_ROOT = 8,
  MPI_ERR_GROUP = 9,
  MPI_ERR_OP = 10,
  MPI_ERR_ARG = 13,
  MPI_ERR_TRUNCATE = 15,
  MPI_ERR_OTHER = 16,
  MPI_ERR_INTERN = 17,
  MPI_ERR_IN_STATUS = 18,
  MPI_ERR_PENDING = 19,
  MPI_ERR_NO_MEM = 39
};
enum {
  MPI_ANY_SOURCE = -1,
  MPI_ANY_TAG = -1,
  MPI_PROC_NULL = -2,
  MPI_ROOT = -4,
  MPI_UNDEFINED = -32766
};
enum {
  MPI_THREAD_SINGLE = 0,
  MPI_THREAD_FUNNELED = 1,
  MPI_THREAD_SERIALIZED = 2,
  MPI_THREAD_MULTIPLE = 3
};
enum {
  MPI_COMBINER_NAMED = 0,
  MPI_COMBINER_DUP = 1,
  MPI_COMBINER_CONTIGUOUS = 2,
  MPI_COMBINER_F90_REAL = 14,
  MPI_COMBINER_F90_COMPLEX = 15,
  MPI_COMBINER_F90_INTEGER = 16
};
enum { MPI_IDENT = 0, MPI_CONGRUENT = 1, MPI_SIMILAR = 2, MPI_UNEQUAL = 3 };
enum { MPI_COMM_TYPE_SHARED = 0 };
enum { MPI_TAG_UB = 0 };

#define MPI_MAX_ERROR_STRING           256
#define MPI_MAX_LIBRARY_VERSION_STRING 256
#define MPI_MAX_PROCESSOR_NAME         256

#define MPI_BOTTOM          ((void *)0)
#define MPI_IN_PLACE        ((void *)1)
#define MPI_STATUS_IGNORE   ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)

#define TUTTI_DECLARE(result, name, ...) \
  result MPI_##name(__VA_ARGS__);        \
  result PMPI_##name(__VA_ARGS__);       \
  result MPIX_##name(__VA_ARGS__);       \
  result PMPIX_##name(__VA_ARGS__);

#endif
