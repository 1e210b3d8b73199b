C     The MPI entry points of FORTRAN 77 with mpif.h.
      program f77mpi
      implicit none
      include 'mpif.h'
      include 'sion_f77.h'
      integer rank, ierr, nfiles, fsblk, globalrank, sid, i, eof
      integer numbers(10)
      integer*8 chunk, rc

      call MPI_Init(ierr)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
      do i = 1, 10
        numbers(i) = 100*rank + i
      end do
      nfiles = 1
      chunk = 1000
      fsblk = -1
      call fsion_paropen_mpi('fortran_77_mpi.sion', 'bw', nfiles,
     &  MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, fsblk, globalrank,
     &  ' ', sid)
      if (sid .lt. 0 .or. globalrank .ne. rank) goto 99
      call fsion_write(numbers, 4_8, 5_8, sid, rc)
      call fsion_coll_fwrite_mpi(numbers(6), 4_8, 5_8, sid, rc)
      if (rc .ne. 5) goto 99
      call fsion_parclose_mpi(sid, ierr)
      if (ierr .ne. sion_success) goto 99
      call fsion_paropen_mpi('fortran_77_mpi.sion', 'br', nfiles,
     &  MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, fsblk, globalrank,
     &  ' ', sid)
      call fsion_coll_fread_mpi_integer(numbers, 4_8, 10_8, sid, rc)
      if (rc .ne. 10 .or. numbers(10) .ne. 100*rank + 10) goto 99
      call fsion_feof(sid, eof)
      if (eof .ne. 1) goto 99
      call fsion_parclose_mpi(sid, ierr)
      if (ierr .ne. sion_success) goto 99
C     The name that the archives have besides.
      call fsion_paropen_multi_mpi_c('fortran_77_mpi.sion', 'rb',
     &  nfiles, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, fsblk,
     &  globalrank, ' ', sid)
      if (sid .lt. 0) goto 99
      call fsion_parclose_mpi(sid, ierr)
      call MPI_Finalize(ierr)
      stop
   99 print *, 'f77_mpi_test fails on rank', rank
      call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
      end
