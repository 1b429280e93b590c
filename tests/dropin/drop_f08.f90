! drop_f08.f90 - Fortran that uses the module mpi_f08. SPDX-License-Identifier: BSD-3-Clause
module ops
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
contains
  subroutine add(a, b, n, t)
    type(c_ptr), value :: a, b
    integer :: n
    type(MPI_Datatype) :: t
    integer, pointer :: x(:), y(:)
    call c_f_pointer(a, x, [n])
    call c_f_pointer(b, y, [n])
    y = x + y
  end subroutine
end module

program main
  use mpi_f08
  use ops
  implicit none
  integer :: me, p, k, s, flag
  integer :: x(50), y(50), every(64), r
  double precision :: d(9)
  type(MPI_Comm) :: comm
  type(MPI_Op) :: op
  type(MPI_Request) :: request
  logical :: good
  good = .true.
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, p)
  s = p * (p - 1) / 2
  do k = 1, 10
    x = me + k
    call MPI_Allreduce(MPI_IN_PLACE, x, size(x), MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    good = good .and. count(x == s + p * k) == size(x)
  end do
  d = me
  call MPI_Allreduce(MPI_IN_PLACE, d, 9, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  good = good .and. d(9) == p - 1
  call MPI_Op_create(add, .true., op)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  x = me
  call MPI_Allreduce(x, y, 50, MPI_INTEGER, op, comm)
  good = good .and. count(y == s) == size(y)
  call MPI_Op_free(op)
  call MPI_Reduce(x, y, 50, MPI_INTEGER, MPI_MAX, 0, comm)
  if (me == 0) good = good .and. count(y == p - 1) == size(y)
  call MPI_Bcast(x, 50, MPI_INTEGER, p - 1, comm)
  good = good .and. count(x == p - 1) == size(x)
  call MPI_Allgather(me, 1, MPI_INTEGER, every, 1, MPI_INTEGER, comm)
  good = good .and. all([(every(r) == r - 1, r = 1, p)])
  call MPI_Iallreduce(x, y, 50, MPI_INTEGER, MPI_SUM, comm, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  good = good .and. count(y == p * (p - 1)) == size(y)
  call MPI_Barrier(comm)
  call MPI_Comm_free(comm)
  flag = merge(0, 1, good)
  call MPI_Reduce(flag, k, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD)
  if (me == 0) print '(a)', trim(merge('ok - use mpi_f08    ', 'not ok - use mpi_f08', k == 0))
  call MPI_Finalize()
  if (.not. good) stop 1
end program
