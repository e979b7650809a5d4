! The calls of bridges.cpp in Fortran.
module bridges
    use, intrinsic :: iso_c_binding
    use tauto
    implicit none
    integer(c_int64_t), parameter :: length = 64
    type(tauto_team), save :: team
    real(c_double), save :: values(length) = 0, results(length) = 0

contains

    subroutine add_one(first, last)
        integer(c_int64_t), intent(in) :: first, last
        values(first:last) = values(first:last) + 1
    end subroutine

    ! work: 1 a loop, 2 a sum, 3 a scan, 4 a sort.
    real(c_double) function fortran_nanoseconds(work, calls) bind(c)
        integer(c_int), value :: work
        integer(c_long), value :: calls
        integer(c_int64_t) :: begin, end, rate
        integer(c_long) :: k
        if (team%members() == 0) call team%create()
        call system_clock(begin, rate)
        do k = 1, calls
            select case (work)
            case (1)
                call tauto_parallel_for(team, 1_c_int64_t, length, add_one)
            case (2)
                results(1) = tauto_sum(team, values)
            case (3)
                call tauto_inclusive_scan(team, results)
            case (4)
                call tauto_sort(team, values)
            end select
        end do
        call system_clock(end)
        fortran_nanoseconds = 1e9_c_double*real(end - begin, c_double)/real(rate, c_double)/real(calls, c_double)
    end function

end module
