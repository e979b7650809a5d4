! What tests/python/test_bindings.py compiles and runs: it prints nothing and ends with 0, or says what is wrong.
program contract
    use, intrinsic :: iso_c_binding
    use tauto
    implicit none
    integer(c_int64_t), parameter :: n = 100000_c_int64_t
    type(tauto_team) :: team, other
    real(c_double), allocatable :: x(:), again(:)
    integer(c_int64_t), allocatable :: k(:)
    integer(c_int32_t), allocatable :: short(:)
    real(c_float), allocatable :: single(:)
    integer(c_int64_t) :: counts(4), i
    integer(c_int) :: stat
    real(c_double) :: sum_of_two, sum_of_five

    call team%create(size=2)
    call check(team%members() == 2, "the team has not two members")
    call other%create(size=5, cpus=[0_c_int], pin=.false., stat=stat)
    call check(stat == TAUTO_OK, "no team on CPU 0")
    call check(other%members() == 5, "the other team has not five members")

    allocate (x(n), again(n), k(n))
    x = 0
    call tauto_parallel_for(team, 1_c_int64_t, n, fill, stat=stat)
    call check(stat == TAUTO_OK, "the loop failed")
    call check(all(x == [(1.0_c_double/real(i, c_double), i=1, n)]), "an index was not handed out once")
    call tauto_parallel_for(team, 11_c_int64_t, 10_c_int64_t, fill)
    call tauto_parallel_for(other, 1_c_int64_t, n, fill, schedule=TAUTO_DYNAMIC, chunk=7_c_int64_t)
    call check(all(x == [(2.0_c_double/real(i, c_double), i=1, n)]), "the second loop was not whole")

    sum_of_two = tauto_sum(team, x)
    sum_of_five = tauto_sum(other, x)
    call check(transfer(sum_of_two, 1_c_int64_t) == transfer(sum_of_five, 1_c_int64_t), "sums have other bits")
    call check(abs(sum_of_two - tauto_exact_sum(team, x)) < 1e-9, "the sums differ")
    call check(tauto_exact_sum(team, [1e100_c_double, 1.0_c_double, -1e100_c_double]) == 1, "the exact sum is wrong")
    ! An expression that has strides is passed as a copy.
    call check(tauto_sum(team, x(1:9:4)) == (x(1) + x(5)) + x(9), "the sum of a section is wrong")
    call check(tauto_reduce(team, 1_c_int64_t, n, 0.0_c_double, part) == tauto_reduce(other, 1_c_int64_t, n, &
        0.0_c_double, part), "reductions have other bits")
    call check(tauto_reduce(team, 1_c_int64_t, n, -1.0_c_double, part_largest, larger) == 2, "the largest is wrong")

    k = [(mod(i*7919, n), i=1, n)]
    call tauto_sort(team, k)
    call check(all(k == [(i, i=0, n - 1)]), "the integers are not sorted")
    short = int(k(n:1:-1), c_int32_t)
    call tauto_sort(team, short)
    call check(all(short == [(i, i=0, n - 1)]), "the short integers are not sorted")
    single = real(x, c_float)
    call tauto_sort(team, single)
    call check(all(single(2:) >= single(:n - 1)), "the reals are not sorted")
    again = x
    call tauto_sort(team, x)
    call check(all(x == again(n:1:-1)), "the doubles are not sorted")
    call check(tauto_minloc(team, x) == 1, "the place of the least is wrong")
    call check(tauto_maxloc(team, x) == n, "the place of the greatest is wrong")
    call tauto_inclusive_scan(team, k)
    call check(k(n) == n*(n - 1)/2 .and. k(3) == 3, "the scan of integers is wrong")
    k = 1
    call tauto_exclusive_scan(team, k, 10_c_int64_t)
    call check(k(1) == 10 .and. k(n) == 9 + n, "the exclusive scan is wrong")
    x = 0.5_c_double
    call tauto_inclusive_scan(team, x)
    call check(x(n) == 0.5_c_double*real(n, c_double), "the scan of doubles is wrong")
    x = 0.5_c_double
    call tauto_exclusive_scan(team, x, 1.0_c_double)
    call check(x(1) == 1 .and. x(n) == 0.5_c_double*real(n + 1, c_double), "the exclusive scan of doubles is wrong")
    call check(tauto_sum(team, k) == 10*n + n*(n - 1)/2, "the sum of integers is wrong")
    call tauto_histogram(team, [0.0_c_double, 0.3_c_double, 1.0_c_double, 2.0_c_double], 0.0_c_double, &
        1.0_c_double, counts)
    call check(all(counts == [1, 1, 0, 1]), "the histogram is wrong")

    call tauto_histogram(team, x, 1.0_c_double, 0.0_c_double, counts, stat)
    call check(stat == TAUTO_REFUSED, "bins from 1 to 0 are not refused")
    call check(index(tauto_message(), "less than") > 0, "the message is another one")
    call check(tauto_version() >= 100, "the version is wrong")
    call check(tauto_rank() == 0, "the rank outside a body is wrong")
    call other%destroy()
    call check(other%members() == 0, "a team that has ended has members")
    if (command_argument_count() > 0) call tauto_sort(other, x) ! ends the program in words
    call team%destroy()

contains

    subroutine check(is_right, words)
        logical, intent(in) :: is_right
        character(len=*), intent(in) :: words
        if (is_right) return
        print "(2a)", words, "; "//tauto_message()
        error stop 1
    end subroutine

    subroutine fill(first, last)
        integer(c_int64_t), intent(in) :: first, last
        integer(c_int64_t) :: j
        do j = first, last
            x(j) = x(j) + 1.0_c_double/real(j, c_double)
        end do
    end subroutine

    function part(first, last) result(value)
        integer(c_int64_t), intent(in) :: first, last
        real(c_double) :: value
        value = sum(x(first:last))
    end function

    function part_largest(first, last) result(value)
        integer(c_int64_t), intent(in) :: first, last
        real(c_double) :: value
        value = maxval(x(first:last))
    end function

    function larger(left, right) result(both)
        real(c_double), intent(in) :: left, right
        real(c_double) :: both
        both = max(left, right)
    end function

end program
