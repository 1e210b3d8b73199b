! completion FILE: nonblocking writes to /dev/full, completed by every call of MPI that completes requests,
! from Fortran. The call returns the class of the error, and the handler of MPI_COMM_WORLD does not end the
! program. FILE is writable. BINDING 1: mpif.h, 2: use mpi, 3: use mpi_f08.
program completion
#if BINDING == 2
  use mpi
#elif BINDING == 3
  use mpi_f08
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
#if BINDING == 3
  type(MPI_File) :: full, sound
  type(MPI_Request) :: q(2)
  type(MPI_Status) :: st(2)
#define ERROR_OF(i) st(i)%MPI_ERROR
#define ONE st(1)
#define NULL_REQUEST(i) (q(i) == MPI_REQUEST_NULL)
#else
  integer :: full, sound, q(2), st(MPI_STATUS_SIZE, 2)
#define ERROR_OF(i) st(MPI_ERROR, i)
#define ONE st(:, 1)
#define NULL_REQUEST(i) (q(i) == MPI_REQUEST_NULL)
#endif
  integer :: e, n, i, some(2), wrong, way, code(2), shift, number
  integer(MPI_OFFSET_KIND), parameter :: at = 0
  character(len=1000) :: path
  character(len=8) :: data = '12345678'
  logical :: done

  wrong = 0
  call MPI_Init(e)
  call get_command_argument(1, path)
  call MPI_File_open(MPI_COMM_SELF, '/dev/full', MPI_MODE_WRONLY, MPI_INFO_NULL, full, e)
  if (e /= MPI_SUCCESS) print *, 'cannot open /dev/full'
  call MPI_File_open(MPI_COMM_SELF, trim(path), MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, sound, e)
  ! MPI_Waitany of MPICH 4.0's mpi_f08 counts from 0, for any request: the second of two is number 1 there.
  q(1) = MPI_REQUEST_NULL
  call MPI_Irecv(number, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, q(2), e)
  call MPI_Send(e, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, i)
  call MPI_Waitany(2, q, i, ONE, e)
  shift = 2 - i
  do way = 1, 9
    code = -1
    call MPI_File_iwrite_at(full, at, data, 8, MPI_CHARACTER, q(1), e)
    call MPI_File_iwrite_at(sound, at, data, 8, MPI_CHARACTER, q(2), e)
    select case (way)
    case (1)
      call MPI_Wait(q(1), ONE, code(1))
      call MPI_Wait(q(2), ONE, code(2))
    case (2)
      do i = 1, 2
        done = .false.
        do while (.not. done)
          call MPI_Test(q(i), done, ONE, code(i))
        end do
      end do
    case (3)
      do i = 1, 2
        done = .false.
        do while (.not. done)
          call MPI_Request_get_status(q(i), done, ONE, code(i))
        end do
        call MPI_Wait(q(i), ONE, e)
        if (e /= code(i)) wrong = wrong + 1
      end do
    case (4)
      do n = 1, 2
        call MPI_Waitany(2, q, i, ONE, e)
        if (i + shift >= 1 .and. i + shift <= 2) code(i + shift) = e
      end do
    case (5)
      do n = 1, 2
        done = .false.
        do while (.not. done)
          call MPI_Testany(2, q, i, done, ONE, e)
        end do
        if (i + shift >= 1 .and. i + shift <= 2) code(i + shift) = e
      end do
    case (6)
      call MPI_Waitall(2, q, st, e)
      if (e /= MPI_ERR_IN_STATUS) wrong = wrong + 1
      code = (/ ERROR_OF(1), ERROR_OF(2) /)
    case (7)
      done = .false.
      e = MPI_SUCCESS
      do while (.not. done .and. e == MPI_SUCCESS)
        call MPI_Testall(2, q, done, st, e)
      end do
      if (e /= MPI_ERR_IN_STATUS) wrong = wrong + 1
      code = (/ ERROR_OF(1), ERROR_OF(2) /)
    case default
      do while (any(code == -1))
        if (way == 8) then
          call MPI_Waitsome(2, q, n, some, st, e)
        else
          call MPI_Testsome(2, q, n, some, st, e)
        end if
        if (n == MPI_UNDEFINED) exit
        do i = 1, n
          code(some(i) + shift) = MPI_SUCCESS
          if (e == MPI_ERR_IN_STATUS) code(some(i) + shift) = ERROR_OF(i)
        end do
      end do
    end select
    if (code(1) /= MPI_ERR_NO_SPACE .or. code(2) /= MPI_SUCCESS) then
      wrong = wrong + 1
      print *, 'way', way, 'gives', code, 'instead of', MPI_ERR_NO_SPACE, MPI_SUCCESS
    end if
    do i = 1, 2
      if (.not. NULL_REQUEST(i)) wrong = wrong + 1
    end do
  end do
  call MPI_File_close(full, e)
  if (e /= MPI_ERR_NO_SPACE) wrong = wrong + 1
  call MPI_File_close(sound, e)
  if (wrong == 0) print *, 'all right'
  call MPI_Finalize(e)
end program completion
