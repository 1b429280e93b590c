! drop_mpifh.f - Fortran with mpif.h, fixed form. SPDX-License-Identifier: BSD-3-Clause
      subroutine twice(a, b, n, t)
      integer n, t, i
      integer a(n), b(n)
      do i = 1, n
        b(i) = a(i) + b(i)
      end do
      end

      program main
      implicit none
      include 'mpif.h'
      external twice
      integer e, me, p, i, k, op, s, comm
      integer x(100), y(100)
      double precision d(3), want
      logical l, g, good
      double precision pair(2), best(2)
      good = .true.
      call MPI_Init(e)
      call MPI_Comm_rank(MPI_COMM_WORLD, me, e)
      call MPI_Comm_size(MPI_COMM_WORLD, p, e)
      s = p * (p - 1) / 2
      do k = 1, 10
        do i = 1, 100
          x(i) = me + i
        end do
        call MPI_Allreduce(MPI_IN_PLACE, x, 100, MPI_INTEGER,
     &    MPI_SUM, MPI_COMM_WORLD, e)
        good = good .and. e .eq. MPI_SUCCESS
        do i = 1, 100
          good = good .and. x(i) .eq. s + p * i
        end do
      end do
      d(1) = me
      d(2) = -me
      d(3) = 0.5d0
      call MPI_Allreduce(MPI_IN_PLACE, d, 3, MPI_DOUBLE_PRECISION,
     &  MPI_MAX, MPI_COMM_WORLD, e)
      want = p - 1
      good = good .and. d(1) .eq. want .and. d(2) .eq. 0
      l = me .eq. 0
      call MPI_Allreduce(l, g, 1, MPI_LOGICAL, MPI_LOR,
     &  MPI_COMM_WORLD, e)
      good = good .and. g
      pair(1) = mod(me, 2)
      pair(2) = me
      call MPI_Allreduce(pair, best, 1, MPI_2DOUBLE_PRECISION,
     &  MPI_MINLOC, MPI_COMM_WORLD, e)
      good = good .and. best(1) .eq. 0 .and. best(2) .eq. 0
      call MPI_Op_create(twice, .true., op, e)
      do i = 1, 100
        x(i) = me
        y(i) = -1
      end do
      call MPI_Comm_dup(MPI_COMM_WORLD, comm, e)
      call MPI_Allreduce(x, y, 100, MPI_INTEGER, op, comm, e)
      do i = 1, 100
        good = good .and. y(i) .eq. s
      end do
      call MPI_Op_free(op, e)
      call MPI_Reduce(x, y, 100, MPI_INTEGER, MPI_SUM, p - 1, comm, e)
      if (me .eq. p - 1) good = good .and. y(100) .eq. s
      call MPI_Bcast(x, 100, MPI_INTEGER, p - 1, comm, e)
      good = good .and. x(1) .eq. p - 1
      call MPI_Allgather(me, 1, MPI_INTEGER, y, 1, MPI_INTEGER,
     &  comm, e)
      do i = 1, p
        good = good .and. y(i) .eq. i - 1
      end do
      call MPI_Barrier(comm, e)
      call MPI_Comm_free(comm, e)
      i = 0
      if (.not. good) i = 1
      call MPI_Reduce(i, k, 1, MPI_INTEGER, MPI_MAX, 0,
     &  MPI_COMM_WORLD, e)
      if (me .eq. 0 .and. k .eq. 0) print '(a)', 'ok - mpif.h'
      if (me .eq. 0 .and. k .ne. 0) print '(a)', 'not ok - mpif.h'
      call MPI_Finalize(e)
      if (.not. good) stop 1
      end
