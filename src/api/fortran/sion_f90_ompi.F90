! The SION interface for Fortran: hybrid programs, MPI x OpenMP. Every thread of every process is one task
! and passes its own variables. Communicators are as in sion_f90_mpi.
module sion_f90_ompi
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t
  use sion_f90
  implicit none
  public
  private :: c_char, c_int, c_int64_t
  private :: MPI_Comm, paropen_integer, paropen_f08

  type, bind(C) :: MPI_Comm
    integer(c_int) :: MPI_VAL
  end type

  interface fsion_paropen_ompi
    module procedure paropen_integer, paropen_f08
  end interface

  interface
    subroutine fsion_parclose_ompi(sid, ierr) bind(C, name='fsion_parclose_ompi_c_')
      import :: c_int
      integer(c_int), intent(in) :: sid
      integer(c_int), intent(out) :: ierr
    end subroutine
  end interface

contains
#define PAROPEN_LABEL 'sheaf_private_fortran_paropen_ompi'
#define PAROPEN_RANK globalranks
#include "paropen_comm.inc"
end module sion_f90_ompi
