! The SION interface for Fortran: OpenMP. Every thread of the team is one task and passes its own variables.
module sion_f90_omp
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t
  use sion_f90
  implicit none
  public
  private :: c_char, c_int, c_int64_t

  interface
    subroutine fsion_parclose_omp(sid, ierr) bind(C, name='fsion_parclose_omp_c_')
      import :: c_int
      integer(c_int), intent(in) :: sid
      integer(c_int), intent(out) :: ierr
    end subroutine
  end interface

contains

  ! Sets newfname to the name of the physical file.
  subroutine fsion_paropen_omp(fname, file_mode, chunksizes, fsblksize, globalranks, newfname, sid)
    character(len=*), intent(in) :: fname, file_mode
    integer(c_int64_t), intent(inout) :: chunksizes
    integer, intent(inout) :: fsblksize, globalranks
    character(len=*), intent(inout) :: newfname
    integer, intent(out) :: sid
    interface
      subroutine paropen_c(fname, file_mode, chunksizes, fsblksize, globalranks, newfname, sid, fname_length, &
                           mode_length, newfname_length) bind(C, name='sheaf_private_fortran_paropen_omp')
        import :: c_char, c_int, c_int64_t
        character(kind=c_char), intent(in) :: fname(*), file_mode(*)
        integer(c_int64_t), intent(inout) :: chunksizes
        integer(c_int), intent(inout) :: fsblksize, globalranks
        character(kind=c_char), intent(inout) :: newfname(*)
        integer(c_int), intent(out) :: sid
        integer(c_int), value :: fname_length, mode_length, newfname_length
      end subroutine
    end interface
    call paropen_c(fname, file_mode, chunksizes, fsblksize, globalranks, newfname, sid, len(fname), len(file_mode), &
                   len(newfname))
  end subroutine

end module sion_f90_omp
