! The SION interface for Fortran: serial and common calls. Arguments and results are those of docs/api-fortran.md;
! what a call does is said in include/sion_common.h and include/sion_serial.h.
!
! Data arguments take any type, kind and rank (type(*), dimension(..)); sections that are not contiguous are copied by
! the compiler. Array arguments also take the first element of an array.

#define WRITER(NAME) \
  subroutine NAME(data, size, nitems, sid, rc) bind(C, name='sheaf_fortran_write'); \
  import :: c_int, c_int64_t; \
  type(*), dimension(..), contiguous, intent(in) :: data; \
  integer(c_int64_t), intent(in) :: size, nitems; \
  integer(c_int), intent(in) :: sid; \
  integer(c_int64_t), intent(out) :: rc; \
  end subroutine

#define READER(NAME) \
  subroutine NAME(data, size, nitems, sid, rc) bind(C, name='sheaf_fortran_read'); \
  import :: c_int, c_int64_t; \
  type(*), dimension(..), contiguous, intent(inout) :: data; \
  integer(c_int64_t), intent(in) :: size, nitems; \
  integer(c_int), intent(in) :: sid; \
  integer(c_int64_t), intent(out) :: rc; \
  end subroutine

#define SWAPPER(NAME) \
  subroutine NAME(target, source, size, n, do_swap, rc) bind(C, name='sheaf_fortran_swap'); \
  import :: c_int; \
  type(*), dimension(..), contiguous, intent(inout) :: target; \
  type(*), dimension(..), contiguous, intent(in) :: source; \
  integer(c_int), intent(in) :: size, n, do_swap; \
  integer(c_int), intent(inout) :: rc; \
  end subroutine

#define OF_HANDLE(NAME, LABEL, RESULT) \
  subroutine NAME(sid, RESULT) bind(C, name=LABEL); \
  import :: c_int; \
  integer(c_int), intent(in) :: sid; \
  integer(c_int), intent(out) :: RESULT; \
  end subroutine

#define NUMBER_OF_HANDLE(NAME, LABEL) \
  function NAME(sid) bind(C, name=LABEL) result(number); \
  import :: c_int, c_int64_t; \
  integer(c_int), intent(in) :: sid; \
  integer(c_int64_t) :: number; \
  end function

module sion_f90
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t
  implicit none
  public
  private :: c_char, c_int, c_int64_t

  integer, parameter :: sion_main_version = 1
  integer, parameter :: sion_sub_version = 7
  integer, parameter :: sion_version_patchlevel = 6
  integer, parameter :: sion_fileformat_version = 5
  integer, parameter :: sion_current_rank = -101
  integer, parameter :: sion_current_blk = -102
  integer, parameter :: sion_current_chunk = -102
  integer(c_int64_t), parameter :: sion_current_pos = -103
  integer, parameter :: sion_absolute_pos = -104
  integer, parameter :: sion_success = 1

  interface
    WRITER(fsion_write)
    WRITER(fsion_write_integer)
    WRITER(fsion_write_integer8)
    WRITER(fsion_write_real)
    WRITER(fsion_write_double_precision)
    WRITER(fsion_write_complex)
    WRITER(fsion_write_logical)
    WRITER(fsion_write_character)
    WRITER(fsion_fwrite)
    WRITER(fsion_fwrite_integer)
    WRITER(fsion_fwrite_integer8)
    WRITER(fsion_fwrite_real)
    WRITER(fsion_fwrite_double_precision)
    WRITER(fsion_fwrite_complex)
    WRITER(fsion_fwrite_logical)
    WRITER(fsion_fwrite_character)
    READER(fsion_read)
    READER(fsion_read_integer)
    READER(fsion_read_integer8)
    READER(fsion_read_real)
    READER(fsion_read_double_precision)
    READER(fsion_read_complex)
    READER(fsion_read_logical)
    READER(fsion_read_character)
    READER(fsion_fread)
    READER(fsion_fread_integer)
    READER(fsion_fread_integer8)
    READER(fsion_fread_real)
    READER(fsion_fread_double_precision)
    READER(fsion_fread_complex)
    READER(fsion_fread_logical)
    READER(fsion_fread_character)
    SWAPPER(fsion_swap)
    SWAPPER(fsion_swap_integer)
    SWAPPER(fsion_swap_integer8)
    SWAPPER(fsion_swap_real)
    SWAPPER(fsion_swap_double_precision)
    SWAPPER(fsion_swap_complex)
    SWAPPER(fsion_swap_logical)
    SWAPPER(fsion_swap_character)

    OF_HANDLE(fsion_close, 'fsion_close_c_', ierr)
    OF_HANDLE(fsion_feof, 'fsion_feof_c_', eof)
    OF_HANDLE(fsion_flush, 'fsion_flush_c_', ierr)
    OF_HANDLE(fsion_get_fileno, 'fsion_get_fileno_c_', filenumber)
    OF_HANDLE(fsion_get_file_endianness, 'fsion_get_file_endianness_c_', endianness)
    OF_HANDLE(fsion_get_file_endianess, 'fsion_get_file_endianess_c_', endianness)
    OF_HANDLE(fsion_endianness_swap_needed, 'fsion_endianness_swap_needed_c_', needed)
    NUMBER_OF_HANDLE(fsion_bytes_avail_in_block, 'fsion_bytes_avail_in_block_')
    NUMBER_OF_HANDLE(fsion_get_position, 'fsion_get_position_')

    subroutine fsion_seek(sid, rank, currentblocknr, posinblk, ierr) bind(C, name='fsion_seek_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid, rank, currentblocknr
      integer(c_int64_t), intent(in) :: posinblk
      integer(c_int), intent(out) :: ierr
    end subroutine

    subroutine fsion_ensure_free_space(sid, bytes, ierr) bind(C, name='fsion_ensure_free_space_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid
      integer(c_int64_t), intent(in) :: bytes
      integer(c_int), intent(out) :: ierr
    end subroutine

    subroutine fsion_get_endianness(endianness) bind(C, name='fsion_get_endianness_c_')
      import :: c_int
      integer(c_int), intent(out) :: endianness
    end subroutine

    subroutine fsion_get_endianess(endianness) bind(C, name='fsion_get_endianess_c_')
      import :: c_int
      integer(c_int), intent(out) :: endianness
    end subroutine

    ! ierr of these four is set only by a failure.
    subroutine fsion_get_chunksizes(sid, chunksizes, ierr) bind(C, name='sheaf_fortran_get_chunksizes')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid
      integer(c_int64_t), dimension(..), contiguous, intent(inout) :: chunksizes
      integer(c_int), intent(inout) :: ierr
    end subroutine

    subroutine fsion_get_globalranks(sid, globalranks, ierr) bind(C, name='sheaf_fortran_get_globalranks')
      import :: c_int
      integer(c_int), intent(in) :: sid
      integer(c_int), dimension(..), contiguous, intent(inout) :: globalranks
      integer(c_int), intent(inout) :: ierr
    end subroutine

    subroutine fsion_get_mapping(sid, mapping, ierr) bind(C, name='sheaf_fortran_get_mapping')
      import :: c_int
      integer(c_int), intent(in) :: sid
      integer(c_int), dimension(..), contiguous, intent(inout) :: mapping
      integer(c_int), intent(inout) :: ierr
    end subroutine

    subroutine fsion_get_mapping_spec(sid, mapping_size, numfiles, ierr) bind(C, name='fsion_get_mapping_spec_c_')
      import :: c_int
      integer(c_int), intent(in) :: sid
      integer(c_int), intent(inout) :: mapping_size, numfiles, ierr
    end subroutine

    ! The arrays are returned as addresses; use c_f_pointer(transfer(address, c_null_ptr), array, [ntasks]).
    subroutine fsion_get_locations(sid, ntasks, maxblocks, globalskip, start_of_varheader, sion_localsizes, &
                                   sion_globalranks, sion_chunkcount, sion_chunksizes, ierr) &
      bind(C, name='fsion_get_locations_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid
      integer(c_int), intent(inout) :: ntasks, maxblocks
      integer(c_int64_t), intent(inout) :: globalskip, start_of_varheader
      integer(c_int64_t), intent(inout) :: sion_localsizes, sion_globalranks, sion_chunkcount, sion_chunksizes
      integer(c_int), intent(out) :: ierr
    end subroutine

    subroutine fsion_get_current_locations(sid, ntasks, sion_currentpos, sion_currentblocknr, ierr) &
      bind(C, name='fsion_get_current_locations_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid
      integer(c_int), intent(inout) :: ntasks
      integer(c_int64_t), intent(inout) :: sion_currentpos, sion_currentblocknr
      integer(c_int), intent(out) :: ierr
    end subroutine
  end interface

contains

  subroutine fsion_open(fname, file_mode, ntasks, nfiles, chunksizes, fsblksize, globalranks, sid)
    character(len=*), intent(in) :: fname, file_mode
    integer, intent(inout) :: ntasks, nfiles
    integer(c_int64_t), dimension(..), contiguous, intent(inout) :: chunksizes
    integer, intent(inout) :: fsblksize
    integer, dimension(..), contiguous, intent(inout) :: globalranks
    integer, intent(out) :: sid
    interface
      subroutine open_c(fname, file_mode, ntasks, nfiles, chunksizes, fsblksize, globalranks, sid, fname_length, &
                        mode_length) bind(C, name='sheaf_fortran_open')
        import :: c_char, c_int, c_int64_t
        character(kind=c_char), intent(in) :: fname(*), file_mode(*)
        integer(c_int), intent(inout) :: ntasks, nfiles
        integer(c_int64_t), dimension(..), contiguous, intent(inout) :: chunksizes
        integer(c_int), intent(inout) :: fsblksize
        integer(c_int), dimension(..), contiguous, intent(inout) :: globalranks
        integer(c_int), intent(out) :: sid
        integer(c_int), value :: fname_length, mode_length
      end subroutine
    end interface
    call open_c(fname, file_mode, ntasks, nfiles, chunksizes, fsblksize, globalranks, sid, len(fname), len(file_mode))
  end subroutine

  subroutine fsion_open_rank(fname, file_mode, chunksize, fsblksize, rank, sid)
    character(len=*), intent(in) :: fname, file_mode
    integer(c_int64_t), intent(inout) :: chunksize
    integer, intent(inout) :: fsblksize, rank
    integer, intent(out) :: sid
    interface
      subroutine open_rank_c(fname, file_mode, chunksize, fsblksize, rank, sid, fname_length, mode_length) &
        bind(C, name='fsion_open_rank_c_')
        import :: c_char, c_int, c_int64_t
        character(kind=c_char), intent(in) :: fname(*), file_mode(*)
        integer(c_int64_t), intent(inout) :: chunksize
        integer(c_int), intent(inout) :: fsblksize, rank
        integer(c_int), intent(out) :: sid
        integer(c_int), value :: fname_length, mode_length
      end subroutine
    end interface
    call open_rank_c(fname, file_mode, chunksize, fsblksize, rank, sid, len(fname), len(file_mode))
  end subroutine

end module sion_f90
