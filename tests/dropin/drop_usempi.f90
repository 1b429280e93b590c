! drop_usempi.f90 - Fortran that uses the module mpi. SPDX-License-Identifier: BSD-3-Clause
program main
  use mpi
  implicit none
  external :: add
  integer :: e, me, p, k, op, s, comm, flag, i
  integer :: x(50), y(50), all(64)
  real :: r(7)
  complex :: z(5)
  logical :: good
  good = .true.
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, e)
  call MPI_Comm_size(MPI_COMM_WORLD, p, e)
  s = p * (p - 1) / 2
  do k = 1, 10
    x = me + k
    call MPI_Allreduce(MPI_IN_PLACE, x, size(x), MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
    good = good .and. e == MPI_SUCCESS .and. all_are(x, s + p * k)
  end do
  r = me
  call MPI_Allreduce(MPI_IN_PLACE, r, 7, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, e)
  good = good .and. r(7) == s
  z = cmplx(me, 1)
  call MPI_Allreduce(MPI_IN_PLACE, z, 5, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, e)
  good = good .and. z(3) == cmplx(s, p)
  call MPI_Op_create(add, .true., op, e)
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -me, comm, e)
  x = me
  y = -1
  call MPI_Allreduce(x, y, 50, MPI_INTEGER, op, comm, e)
  good = good .and. all_are(y, s)
  call MPI_Op_free(op, e)
  call MPI_Reduce(x, y, 50, MPI_INTEGER, MPI_MAX, 0, comm, e)
  if (me == p - 1) good = good .and. all_are(y, p - 1)
  call MPI_Bcast(x, 50, MPI_INTEGER, 0, comm, e)
  good = good .and. all_are(x, p - 1)
  call MPI_Allgather(me, 1, MPI_INTEGER, all, 1, MPI_INTEGER, comm, e)
  do i = 1, p
    good = good .and. all(i) == p - i
  end do
  call MPI_Barrier(comm, e)
  call MPI_Comm_free(comm, e)
  flag = merge(0, 1, good)
  call MPI_Reduce(flag, k, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, e)
  if (me == 0) print '(a)', trim(merge('ok - use mpi    ', 'not ok - use mpi', k == 0))
  call MPI_Finalize(e)
  if (.not. good) stop 1
contains
  logical function all_are(v, n)
    integer, intent(in) :: v(:), n
    all_are = count(v == n) == size(v)
  end function
end program

subroutine add(a, b, n, t)
  integer :: n, t, a(n), b(n)
  b = a + b
end subroutine
