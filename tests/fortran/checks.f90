! Counts the failed checks of a Fortran test.
module checks
  implicit none
  integer :: failures = 0
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    print '(2a)', 'does not hold: ', what
    !$omp atomic
    failures = failures + 1
  end subroutine

  subroutine finish
    if (failures > 0) error stop 1
  end subroutine
end module checks
