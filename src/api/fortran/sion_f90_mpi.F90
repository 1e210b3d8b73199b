! The SION interface for Fortran: MPI. Communicators are integers (mpif.h, use mpi) or type(MPI_Comm) (use
! mpi_f08).
!
! One module serves every MPI library. The C side converts the handles. type(MPI_Comm) is declared here as in
! the MPI standard. It is interoperable and therefore the same type as that of any mpi_f08 (Fortran 2018,
! 7.5.2.4).

#define COLLECTIVE(NAME, LABEL, INTENT) \
  subroutine NAME(data, size, nitems, sid, rc) bind(C, name=LABEL); \
  import :: c_int, c_int64_t; \
  type(*), dimension(..), contiguous, intent(INTENT) :: data; \
  integer(c_int64_t), intent(in) :: size, nitems; \
  integer(c_int), intent(in) :: sid; \
  integer(c_int64_t), intent(out) :: rc; \
  end subroutine

#define WRITER(NAME) COLLECTIVE(NAME, 'sheaf_fortran_coll_write', in)
#define READER(NAME) COLLECTIVE(NAME, 'sheaf_fortran_coll_read', inout)

module sion_f90_mpi
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t
  use sion_f90
  implicit none
  public
  private :: c_char, c_int, c_int64_t
  private :: MPI_Comm, paropen_integer, paropen_f08, paropen_mapped_integer, paropen_mapped_f08
  private :: save_wait_f08

  type, bind(C) :: MPI_Comm
    integer(c_int) :: MPI_VAL
  end type

  interface fsion_paropen_mpi
    module procedure paropen_integer, paropen_f08
  end interface

  interface fsion_paropen_mapped_mpi
    module procedure paropen_mapped_integer, paropen_mapped_f08
  end interface

  interface fsheaf_save_wait_mpi
    subroutine fsheaf_save_wait_integer(save, state, comm, reached) bind(C, name='fsheaf_save_wait_mpi_c_')
      import :: c_int, c_int64_t
      integer(c_int64_t), intent(in) :: save
      integer(c_int), intent(in) :: state, comm
      integer(c_int), intent(out) :: reached
    end subroutine
    module procedure save_wait_f08
  end interface

  interface
    subroutine fsion_parclose_mapped_mpi(sid, ierr) bind(C, name='fsion_parclose_mapped_mpi_c_')
      import :: c_int
      integer(c_int), intent(in) :: sid
      integer(c_int), intent(out) :: ierr
    end subroutine
    subroutine fsion_parreinit_mpi(sid, chunksize, ierr) bind(C, name='fsion_parreinit_mpi_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid
      integer(c_int64_t), intent(in) :: chunksize
      integer(c_int), intent(out) :: ierr
    end subroutine
    subroutine fsion_parclose_mpi(sid, ierr) bind(C, name='fsion_parclose_mpi_c_')
      import :: c_int
      integer(c_int), intent(in) :: sid
      integer(c_int), intent(out) :: ierr
    end subroutine
    WRITER(fsion_coll_fwrite_mpi)
    WRITER(fsion_coll_fwrite_mpi_integer)
    WRITER(fsion_coll_fwrite_mpi_integer8)
    WRITER(fsion_coll_fwrite_mpi_real)
    WRITER(fsion_coll_fwrite_mpi_double_precision)
    WRITER(fsion_coll_fwrite_mpi_complex)
    WRITER(fsion_coll_fwrite_mpi_logical)
    WRITER(fsion_coll_fwrite_mpi_character)
    READER(fsion_coll_fread_mpi)
    READER(fsion_coll_fread_mpi_integer)
    READER(fsion_coll_fread_mpi_integer8)
    READER(fsion_coll_fread_mpi_real)
    READER(fsion_coll_fread_mpi_double_precision)
    READER(fsion_coll_fread_mpi_complex)
    READER(fsion_coll_fread_mpi_logical)
    READER(fsion_coll_fread_mpi_character)
  end interface

contains
#define PAROPEN_LABEL 'sheaf_private_fortran_paropen_mpi'
#define PAROPEN_RANK globalrank
#include "paropen_comm.inc"

  ! The arrays have an element for each task of this process. When the call opens a multifile for reading, it
  ! fills the arrays.
  subroutine paropen_mapped_integer(fname, file_mode, nfiles, fgcomm, nlocaltasks, globalranks, &
                                    chunksizes, mapping_filenrs, &
                                    mapping_lranks, fsblksize, sid)
    character(len=*), intent(in) :: fname, file_mode
    integer, intent(inout) :: nfiles
    integer, intent(in) :: fgcomm
    integer, intent(inout) :: nlocaltasks
    integer, dimension(..), contiguous, intent(inout) :: globalranks, mapping_filenrs, mapping_lranks
    integer(c_int64_t), dimension(..), contiguous, intent(inout) :: chunksizes
    integer, intent(inout) :: fsblksize
    integer, intent(out) :: sid
    interface
      subroutine paropen_c(fname, file_mode, nfiles, fgcomm, nlocaltasks, globalranks, chunksizes, &
                           mapping_filenrs, &
                           mapping_lranks, fsblksize, sid, fname_length, mode_length) &
        bind(C, name='sheaf_private_fortran_paropen_mapped_mpi')
        import :: c_char, c_int, c_int64_t
        character(kind=c_char), intent(in) :: fname(*), file_mode(*)
        integer(c_int), intent(inout) :: nfiles
        integer(c_int), intent(in) :: fgcomm
        integer(c_int), intent(inout) :: nlocaltasks
        integer(c_int), dimension(..), contiguous, intent(inout) :: globalranks
        integer(c_int64_t), dimension(..), contiguous, intent(inout) :: chunksizes
        integer(c_int), dimension(..), contiguous, intent(inout) :: mapping_filenrs, mapping_lranks
        integer(c_int), intent(inout) :: fsblksize
        integer(c_int), intent(out) :: sid
        integer(c_int), value :: fname_length, mode_length
      end subroutine
    end interface
    call paropen_c(fname, file_mode, nfiles, fgcomm, nlocaltasks, globalranks, chunksizes, &
                   mapping_filenrs, mapping_lranks, &
                   fsblksize, sid, len(fname), len(file_mode))
  end subroutine

  subroutine paropen_mapped_f08(fname, file_mode, nfiles, fgcomm, nlocaltasks, globalranks, chunksizes, &
                                mapping_filenrs, &
                                mapping_lranks, fsblksize, sid)
    character(len=*), intent(in) :: fname, file_mode
    integer, intent(inout) :: nfiles
    type(MPI_Comm), intent(in) :: fgcomm
    integer, intent(inout) :: nlocaltasks
    integer, dimension(..), contiguous, intent(inout) :: globalranks, mapping_filenrs, mapping_lranks
    integer(c_int64_t), dimension(..), contiguous, intent(inout) :: chunksizes
    integer, intent(inout) :: fsblksize
    integer, intent(out) :: sid
    call paropen_mapped_integer(fname, file_mode, nfiles, fgcomm%MPI_VAL, nlocaltasks, globalranks, &
                                chunksizes, &
                                mapping_filenrs, mapping_lranks, fsblksize, sid)
  end subroutine

  subroutine save_wait_f08(save, state, comm, reached)
    integer(c_int64_t), intent(in) :: save
    integer, intent(in) :: state
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out) :: reached
    call fsheaf_save_wait_integer(save, state, comm%MPI_VAL, reached)
  end subroutine
end module sion_f90_mpi
