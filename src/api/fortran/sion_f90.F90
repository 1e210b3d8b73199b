! The SION interface for Fortran: serial and common calls. docs/api-fortran.md lists arguments and results;
! include/sion_common.h and include/sion_serial.h describe the calls.
!
! Arguments without an intent accept a constant or a variable. A call that has a result for such an argument
! sets the variable and leaves a constant unchanged.
!
! Data arguments accept any type, kind and rank (type(*), dimension(..)); the compiler copies sections that
! are not contiguous. Array arguments also accept the first element of an array.

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
  integer(c_int), intent(in) :: size, n, do_swap, rc; \
  end subroutine

#define KEYED(NAME, LABEL, INTENT) \
  subroutine NAME(data, key, size, nitems, sid, rc) bind(C, name=LABEL); \
  import :: c_int, c_int64_t; \
  type(*), dimension(..), contiguous, intent(INTENT) :: data; \
  integer(c_int64_t), intent(in) :: key, size, nitems; \
  integer(c_int), intent(in) :: sid; \
  integer(c_int64_t), intent(out) :: rc; \
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
  use, intrinsic :: iso_c_binding, only: c_char, c_f_pointer, c_int, c_int64_t, c_null_ptr
  use sion_f90_saves
  implicit none
  public
  private :: c_char, c_f_pointer, c_int, c_int64_t, c_null_ptr
  private :: arrays_of_locations, arrays_of_current, at_address

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
  integer, parameter :: sion_dup_all = -201
  integer, parameter :: sion_dup_rank = -202
  integer, parameter :: sion_dup_rank_key = -203
  integer, parameter :: sion_keyval_none = 50
  integer, parameter :: sion_keyval_inline = 51
  integer, parameter :: sion_keyval_unknown = 54

  ! Returns the arrays as addresses, for c_f_pointer(transfer(address, c_null_ptr), array, [ntasks]), or
  ! copies them into allocatable arrays.
  interface fsion_get_locations
    procedure fsion_get_locations_addresses
    procedure arrays_of_locations
  end interface

  interface fsion_get_current_locations
    procedure fsion_get_current_locations_addresses
    procedure arrays_of_current
  end interface

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
    NUMBER_OF_HANDLE(fsion_bytes_avail_in_chunk, 'fsion_bytes_avail_in_chunk_')
    NUMBER_OF_HANDLE(fsion_get_bytes_written, 'fsion_get_bytes_written_')
    NUMBER_OF_HANDLE(fsion_get_bytes_read, 'fsion_get_bytes_read_')
    OF_HANDLE(fsion_get_number_of_files, 'fsion_get_number_of_files_c_', numfiles)
    OF_HANDLE(fsion_dedup, 'fsion_dedup_c_', ierr)

    KEYED(fsion_fwrite_key, 'sheaf_fortran_write_key', in)
    KEYED(fsion_fread_key, 'sheaf_fortran_read_key', inout)
    OF_HANDLE(fsion_fread_key_iterator_reset, 'fsion_fread_key_iterator_reset_c_', ierr)
    OF_HANDLE(fsion_key_full_scan, 'fsion_key_full_scan_c_', ierr)
    OF_HANDLE(fsion_key_list_iterator_reset, 'fsion_key_list_iterator_reset_c_', ierr)
    OF_HANDLE(fsion_get_keyval_mode, 'fsion_get_keyval_mode_c_', mode)

    subroutine fsion_fread_key_iterator_next(sid, key, size, ierr) bind(C, &
                                             name='fsion_fread_key_iterator_next_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid
      integer(c_int64_t), intent(inout) :: key, size
      integer(c_int), intent(out) :: ierr
    end subroutine

    subroutine fsion_key_list_iterator_next(sid, key, ierr) bind(C, name='fsion_key_list_iterator_next_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid
      integer(c_int64_t), intent(out) :: key
      integer(c_int), intent(out) :: ierr
    end subroutine

    subroutine fsion_seek_key(sid, key, entrynum, posinentry, ierr) bind(C, name='fsion_seek_key_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid, entrynum
      integer(c_int64_t), intent(in) :: key, posinentry
      integer(c_int), intent(out) :: ierr
    end subroutine

    subroutine fsion_key_get_stat(sid, key, num_blocks, total_size, ierr) bind(C, &
                                  name='fsion_key_get_stat_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid
      integer(c_int64_t), intent(in) :: key
      integer(c_int64_t), intent(out) :: num_blocks, total_size
      integer(c_int), intent(out) :: ierr
    end subroutine

    subroutine fsion_dup(sid, mode, rank, key, newsid) bind(C, name='fsion_dup_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid, mode, rank
      integer(c_int64_t), intent(in) :: key
      integer(c_int), intent(out) :: newsid
    end subroutine

    ! Fills arrays of ntasks elements, and the array blocksizes of ntasks*maxblocks elements. The caller gets
    ! ntasks and maxblocks from fsion_get_locations.
    subroutine fsion_get_location_arrays(sid, chunksizes, globalranks, blockcounts, blocksizes, ierr) &
      bind(C, name='fsion_get_location_arrays_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid
      integer(c_int64_t), intent(inout) :: chunksizes(*), globalranks(*), blockcounts(*), blocksizes(*)
      integer(c_int), intent(out) :: ierr
    end subroutine

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

    ! The following four routines set ierr only on failure.
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

    subroutine fsion_get_locations_addresses(sid, ntasks, maxblocks, globalskip, start_of_varheader, &
                                             sion_localsizes, &
                                      sion_globalranks, sion_chunkcount, sion_chunksizes, ierr) &
      bind(C, name='fsion_get_locations_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid
      integer(c_int), intent(inout) :: ntasks, maxblocks
      integer(c_int64_t), intent(inout) :: globalskip, start_of_varheader
      integer(c_int64_t), intent(inout) :: sion_localsizes, sion_globalranks, sion_chunkcount, sion_chunksizes
      integer(c_int), intent(out) :: ierr
    end subroutine

    subroutine fsion_get_current_locations_addresses(sid, ntasks, sion_currentpos, sion_currentblocknr, &
                                                     ierr) &
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
    integer :: ntasks, nfiles
    integer(c_int64_t), dimension(..), contiguous, intent(inout) :: chunksizes
    integer, intent(inout) :: fsblksize
    integer, dimension(..), contiguous :: globalranks
    integer, intent(out) :: sid
    interface
      subroutine open_c(fname, file_mode, ntasks, nfiles, chunksizes, fsblksize, globalranks, sid, fname_length, &
                        mode_length) bind(C, name='sheaf_private_fortran_open')
        import :: c_char, c_int, c_int64_t
        character(kind=c_char), intent(in) :: fname(*), file_mode(*)
        integer(c_int) :: ntasks, nfiles
        integer(c_int64_t), dimension(..), contiguous, intent(inout) :: chunksizes
        integer(c_int), intent(inout) :: fsblksize
        integer(c_int), dimension(..), contiguous :: globalranks
        integer(c_int), intent(out) :: sid
        integer(c_int), value :: fname_length, mode_length
      end subroutine
    end interface
    call open_c(fname, file_mode, ntasks, nfiles, chunksizes, fsblksize, globalranks, sid, len(fname), len(file_mode))
  end subroutine

  subroutine fsion_open_rank(fname, file_mode, chunksize, fsblksize, rank, sid)
    character(len=*), intent(in) :: fname, file_mode
    integer(c_int64_t), intent(inout) :: chunksize
    integer, intent(inout) :: fsblksize
    integer :: rank
    integer, intent(out) :: sid
    interface
      subroutine open_rank_c(fname, file_mode, chunksize, fsblksize, rank, sid, fname_length, mode_length) &
        bind(C, name='fsion_open_rank_c_')
        import :: c_char, c_int, c_int64_t
        character(kind=c_char), intent(in) :: fname(*), file_mode(*)
        integer(c_int64_t), intent(inout) :: chunksize
        integer(c_int), intent(inout) :: fsblksize
        integer(c_int) :: rank
        integer(c_int), intent(out) :: sid
        integer(c_int), value :: fname_length, mode_length
      end subroutine
    end interface
    call open_rank_c(fname, file_mode, chunksize, fsblksize, rank, sid, len(fname), len(file_mode))
  end subroutine

  subroutine arrays_of_locations(sid, ntasks, maxblocks, globalskip, start_of_varheader, sion_localsizes, &
                                 sion_globalranks, &
                                 sion_chunkcount, sion_chunksizes, ierr)
    integer, intent(in) :: sid
    integer, intent(inout) :: ntasks, maxblocks
    integer(c_int64_t), intent(inout) :: globalskip, start_of_varheader
    integer(c_int64_t), allocatable, intent(inout) :: sion_localsizes(:), sion_globalranks(:), &
      sion_chunkcount(:)
    integer(c_int64_t), allocatable, intent(inout) :: sion_chunksizes(:, :) ! (ntasks, maxblocks)
    integer, intent(out) :: ierr
    integer(c_int64_t) :: at(4), n
    call fsion_get_locations_addresses(sid, ntasks, maxblocks, globalskip, start_of_varheader, at(1), &
                                       at(2), at(3), at(4), ierr)
    if (ierr /= sion_success) return
    n = ntasks
    sion_localsizes = at_address(at(1), n)
    sion_globalranks = at_address(at(2), n)
    sion_chunkcount = at_address(at(3), n)
    if (at(4) == 0) n = 0
    sion_chunksizes = reshape(at_address(at(4), n * max(maxblocks, 0)), [n, max(int(maxblocks, c_int64_t), &
      0_c_int64_t)])
  end subroutine

  subroutine arrays_of_current(sid, ntasks, sion_currentpos, sion_currentblocknr, ierr)
    integer, intent(in) :: sid
    integer, intent(inout) :: ntasks
    integer(c_int64_t), allocatable, intent(inout) :: sion_currentpos(:), sion_currentblocknr(:)
    integer, intent(out) :: ierr
    integer(c_int64_t) :: at(2)
    call fsion_get_current_locations_addresses(sid, ntasks, at(1), at(2), ierr)
    if (ierr /= sion_success) return
    sion_currentpos = at_address(at(1), int(ntasks, c_int64_t))
    sion_currentblocknr = at_address(at(2), int(ntasks, c_int64_t))
  end subroutine

  ! Returns a copy of the n numbers at an address, or an empty array if the address is 0.
  function at_address(address, n) result(numbers)
    integer(c_int64_t), intent(in) :: address, n
    integer(c_int64_t), allocatable :: numbers(:)
    integer(c_int64_t), pointer :: there(:)
    if (address == 0) then
      allocate(numbers(0))
    else
      call c_f_pointer(transfer(address, c_null_ptr), there, [n])
      numbers = there
    end if
  end function

end module sion_f90
