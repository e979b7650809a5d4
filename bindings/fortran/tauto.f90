! tautochrone for Fortran: the calls of libtauto.so.1 (tauto.h says what each promises) in Fortran's own terms. Ranges
! have both ends, places count from 1, arrays know their lengths, and a body may be an internal procedure, which sees
! the variables around it. Compile this file with your program, and link libtauto.
!
! `stat` is TAUTO_OK or another of the codes below; tauto_message() has its words. Without `stat`, what does not end
! with TAUTO_OK ends the program with these words.
module tauto
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    implicit none
    private

    integer(c_int), parameter, public :: TAUTO_OK = 0, TAUTO_STOPPED = 1, TAUTO_REFUSED = 2, TAUTO_NO_MEMORY = 3, &
        TAUTO_THROWN = 4
    integer(c_int), parameter, public :: TAUTO_NORMAL = 0, TAUTO_LOW = 1
    integer(c_int), parameter, public :: TAUTO_ADAPTIVE = 0, TAUTO_STATIC = 1, TAUTO_STATIC_CHUNK = 2, &
        TAUTO_DYNAMIC = 3, TAUTO_GUIDED = 4, TAUTO_WEIGHTED = 5

    ! One thread for each of a set of CPUs. It is not copied by an assignment: both then are the same team.
    type, public :: tauto_team
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: create
        procedure :: destroy
        procedure :: members
    end type

    public :: tauto_range_body, tauto_range_value, tauto_combination
    public :: tauto_parallel_for, tauto_reduce, tauto_sum, tauto_exact_sum, tauto_inclusive_scan, tauto_exclusive_scan
    public :: tauto_sort, tauto_minloc, tauto_maxloc, tauto_histogram, tauto_rank, tauto_version, tauto_message

    abstract interface
        ! Does the iterations first, ..., last. Called on several threads at once.
        subroutine tauto_range_body(first, last)
            import
            integer(c_int64_t), intent(in) :: first, last
        end subroutine
        ! The value of the iterations first, ..., last.
        function tauto_range_value(first, last) result(value)
            import
            integer(c_int64_t), intent(in) :: first, last
            real(c_double) :: value
        end function
        function tauto_combination(left, right) result(both)
            import
            real(c_double), intent(in) :: left, right
            real(c_double) :: both
        end function
    end interface

    ! What a C callback's context points to.
    type :: loop
        procedure(tauto_range_body), pointer, nopass :: body => null()
    end type
    type :: reduction
        procedure(tauto_range_value), pointer, nopass :: map => null()
        procedure(tauto_combination), pointer, nopass :: combine => null()
    end type

    ! As in tauto.h.
    type, bind(c) :: team_options
        integer(c_size_t) :: bytes = 0
        type(c_ptr) :: cpus = c_null_ptr
        integer(c_size_t) :: cpu_count = 0
        integer(c_int) :: members = 0
        integer(c_int) :: wait = 0
        integer(c_int) :: pin = 1
        integer(c_size_t) :: stack_bytes = 0
        type(c_ptr) :: name = c_null_ptr
        type(c_funptr) :: on_start = c_null_funptr
        type(c_ptr) :: context = c_null_ptr
    end type
    type, bind(c) :: call_options
        integer(c_size_t) :: bytes = 0
        integer(c_int) :: schedule = TAUTO_ADAPTIVE
        integer(c_int64_t) :: chunk = 0
        type(c_ptr) :: stop = c_null_ptr
        integer(c_int64_t) :: grain = 0
        type(c_ptr) :: site = c_null_ptr
        type(c_ptr) :: name = c_null_ptr
        integer(c_int) :: members = 0
        integer(c_int) :: priority = TAUTO_NORMAL
    end type

    interface tauto_sum
        procedure sum_doubles, sum_integers
    end interface
    interface tauto_inclusive_scan
        procedure inclusive_scan_doubles, inclusive_scan_integers
    end interface
    interface tauto_exclusive_scan
        procedure exclusive_scan_doubles, exclusive_scan_integers
    end interface
    interface tauto_sort
        procedure sort_doubles, sort_reals, sort_integers, sort_short_integers
    end interface

    interface
        integer(c_int) function tauto_version() bind(c)
            import
        end function
        integer(c_int) function tauto_rank() bind(c)
            import
        end function
        type(c_ptr) function c_message() bind(c, name="tauto_message")
            import
        end function
        integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
            import
            type(c_ptr), value :: text
        end function
        integer(c_int) function c_team_create(options, team) bind(c, name="tauto_team_create")
            import
            type(team_options), intent(in) :: options
            type(c_ptr), intent(out) :: team
        end function
        subroutine c_team_destroy(team) bind(c, name="tauto_team_destroy")
            import
            type(c_ptr), value :: team
        end subroutine
        integer(c_int) function c_team_size(team) bind(c, name="tauto_team_size")
            import
            type(c_ptr), value :: team
        end function
        integer(c_int) function c_parallel_for(team, first, last, body, context, options) &
                bind(c, name="tauto_parallel_for")
            import
            type(c_ptr), value :: team, context
            integer(c_int64_t), value :: first, last
            type(c_funptr), value :: body
            type(call_options), intent(in) :: options
        end function
        integer(c_int) function c_reduce_double(team, first, last, identity, map, combine, context, result, options) &
                bind(c, name="tauto_reduce_double")
            import
            type(c_ptr), value :: team, context
            integer(c_int64_t), value :: first, last
            real(c_double), value :: identity
            type(c_funptr), value :: map, combine
            real(c_double), intent(inout) :: result
            type(call_options), intent(in) :: options
        end function
        integer(c_int) function c_sum_double(team, values, n, sum, options) bind(c, name="tauto_sum_double")
            import
            type(c_ptr), value :: team, values, options
            integer(c_int64_t), value :: n
            real(c_double), intent(inout) :: sum
        end function
        integer(c_int) function c_sum_int64(team, values, n, sum, options) bind(c, name="tauto_sum_int64")
            import
            type(c_ptr), value :: team, values, options
            integer(c_int64_t), value :: n
            integer(c_int64_t), intent(inout) :: sum
        end function
        integer(c_int) function c_exact_sum(team, values, n, sum, options) bind(c, name="tauto_exact_sum")
            import
            type(c_ptr), value :: team, values, options
            integer(c_int64_t), value :: n
            real(c_double), intent(inout) :: sum
        end function
        integer(c_int) function c_inclusive_scan_double(team, values, n, results, options) &
                bind(c, name="tauto_inclusive_scan_double")
            import
            type(c_ptr), value :: team, values, results, options
            integer(c_int64_t), value :: n
        end function
        integer(c_int) function c_inclusive_scan_int64(team, values, n, results, options) &
                bind(c, name="tauto_inclusive_scan_int64")
            import
            type(c_ptr), value :: team, values, results, options
            integer(c_int64_t), value :: n
        end function
        integer(c_int) function c_exclusive_scan_double(team, values, n, init, results, options) &
                bind(c, name="tauto_exclusive_scan_double")
            import
            type(c_ptr), value :: team, values, results, options
            integer(c_int64_t), value :: n
            real(c_double), value :: init
        end function
        integer(c_int) function c_exclusive_scan_int64(team, values, n, init, results, options) &
                bind(c, name="tauto_exclusive_scan_int64")
            import
            type(c_ptr), value :: team, values, results, options
            integer(c_int64_t), value :: n
            integer(c_int64_t), value :: init
        end function
        integer(c_int) function c_sort_double(team, values, n, options) bind(c, name="tauto_sort_double")
            import
            type(c_ptr), value :: team, values, options
            integer(c_int64_t), value :: n
        end function
        integer(c_int) function c_sort_float(team, values, n, options) bind(c, name="tauto_sort_float")
            import
            type(c_ptr), value :: team, values, options
            integer(c_int64_t), value :: n
        end function
        integer(c_int) function c_sort_int32(team, values, n, options) bind(c, name="tauto_sort_int32")
            import
            type(c_ptr), value :: team, values, options
            integer(c_int64_t), value :: n
        end function
        integer(c_int) function c_sort_int64(team, values, n, options) bind(c, name="tauto_sort_int64")
            import
            type(c_ptr), value :: team, values, options
            integer(c_int64_t), value :: n
        end function
        integer(c_int) function c_min_double(team, values, n, place, options) bind(c, name="tauto_min_double")
            import
            type(c_ptr), value :: team, values, options
            integer(c_int64_t), value :: n
            integer(c_int64_t), intent(inout) :: place
        end function
        integer(c_int) function c_max_double(team, values, n, place, options) bind(c, name="tauto_max_double")
            import
            type(c_ptr), value :: team, values, options
            integer(c_int64_t), value :: n
            integer(c_int64_t), intent(inout) :: place
        end function
        integer(c_int) function c_histogram_double(team, values, n, low, high, bins, counts, options) &
                bind(c, name="tauto_histogram_double")
            import
            type(c_ptr), value :: team, values, counts, options
            integer(c_int64_t), value :: n, bins
            real(c_double), value :: low, high
        end function
    end interface

contains

    ! The words of the calling thread's last call that did not end with TAUTO_OK.
    function tauto_message() result(words)
        character(len=:), allocatable :: words
        character(kind=c_char), pointer :: letters(:)
        type(c_ptr) :: text
        integer :: i
        text = c_message()
        call c_f_pointer(text, letters, [c_strlen(text)])
        allocate (character(len=size(letters)) :: words)
        do i = 1, size(letters)
            words(i:i) = letters(i)
        end do
    end function

    subroutine answer(status, stat)
        integer(c_int), intent(in) :: status
        integer(c_int), intent(out), optional :: stat
        if (present(stat)) then
            stat = status
        else if (status /= TAUTO_OK) then
            write (error_unit, "(2a)") "tauto: error: ", tauto_message()
            error stop 1
        end if
    end subroutine

    ! cpus: one a member, by rank; else TAUTO_CPUS or each usable one. size: the number of members.
    subroutine create(self, size, cpus, pin, stat)
        class(tauto_team), intent(inout) :: self
        integer, intent(in), optional :: size
        integer(c_int), intent(in), contiguous, target, optional :: cpus(:)
        logical, intent(in), optional :: pin
        integer(c_int), intent(out), optional :: stat
        type(team_options) :: options
        options%bytes = c_sizeof(options)
        if (present(size)) options%members = int(size, c_int)
        if (present(cpus)) then
            options%cpus = c_loc(cpus)
            options%cpu_count = ubound(cpus, 1)
        end if
        if (present(pin)) options%pin = merge(1_c_int, 0_c_int, pin)
        call self%destroy()
        call answer(c_team_create(options, self%handle), stat)
    end subroutine

    subroutine destroy(self)
        class(tauto_team), intent(inout) :: self
        call c_team_destroy(self%handle)
        self%handle = c_null_ptr
    end subroutine

    integer function members(self)
        class(tauto_team), intent(in) :: self
        members = c_team_size(self%handle)
    end function

    type(call_options) function options_of(schedule, chunk, site, members, priority)
        integer(c_int), intent(in), optional :: schedule, members, priority
        integer(c_int64_t), intent(in), optional :: chunk
        type(c_ptr), intent(in) :: site
        options_of%bytes = c_sizeof(options_of)
        if (present(schedule)) options_of%schedule = schedule
        if (present(chunk)) options_of%chunk = chunk
        if (present(members)) options_of%members = members
        if (present(priority)) options_of%priority = priority
        options_of%site = site
    end function

    subroutine call_body(context, begin, end) bind(c)
        type(c_ptr), value :: context
        integer(c_int64_t), value :: begin, end
        type(loop), pointer :: self
        call c_f_pointer(context, self)
        call self%body(begin, end - 1)
    end subroutine

    ! body(first, last) for ranges that cover first, ..., last once. `members` is the most that take part, 0 all. With
    ! the priority TAUTO_LOW the calls of other threads come first.
    subroutine tauto_parallel_for(team, first, last, body, schedule, chunk, stat, members, priority)
        type(tauto_team), intent(in) :: team
        integer(c_int64_t), intent(in) :: first, last
        procedure(tauto_range_body) :: body
        integer(c_int), intent(in), optional :: schedule, members, priority
        integer(c_int64_t), intent(in), optional :: chunk
        integer(c_int), intent(out), optional :: stat
        type(loop), target :: self
        self%body => body
        call answer(c_parallel_for(team%handle, first, last + 1, c_funloc(call_body), c_loc(self), &
            options_of(schedule, chunk, site_of(c_funloc(body)), members, priority)), stat)
    end subroutine

    ! Each procedure is a call site of its own.
    type(c_ptr) function site_of(procedure)
        type(c_funptr), intent(in) :: procedure
        site_of = transfer(procedure, site_of)
    end function

    real(c_double) function map_range(context, begin, end) bind(c)
        type(c_ptr), value :: context
        integer(c_int64_t), value :: begin, end
        type(reduction), pointer :: self
        call c_f_pointer(context, self)
        map_range = self%map(begin, end - 1)
    end function

    real(c_double) function combine_two(context, left, right) bind(c)
        type(c_ptr), value :: context
        real(c_double), value :: left, right
        type(reduction), pointer :: self
        call c_f_pointer(context, self)
        combine_two = self%combine(left, right)
    end function

    ! identity combined with the values of ranges that cover first, ..., last, in their order; without `combine` it is
    ! their sum. The same bits for every team, schedule and run.
    function tauto_reduce(team, first, last, identity, map, combine, stat) result(value)
        type(tauto_team), intent(in) :: team
        integer(c_int64_t), intent(in) :: first, last
        real(c_double), intent(in) :: identity
        procedure(tauto_range_value) :: map
        procedure(tauto_combination), optional :: combine
        integer(c_int), intent(out), optional :: stat
        real(c_double) :: value
        type(reduction), target :: self
        type(c_funptr) :: combination
        self%map => map
        combination = c_null_funptr
        if (present(combine)) then
            self%combine => combine
            combination = c_funloc(combine_two)
        end if
        value = identity
        call answer(c_reduce_double(team%handle, first, last + 1, identity, c_funloc(map_range), combination, &
            c_loc(self), value, options_of(site=site_of(c_funloc(map)))), stat)
    end function

    function sum_doubles(team, values, stat) result(sum)
        type(tauto_team), intent(in) :: team
        real(c_double), intent(in), contiguous, target :: values(:)
        integer(c_int), intent(out), optional :: stat
        real(c_double) :: sum
        sum = 0
        call answer(c_sum_double(team%handle, c_loc(values), size(values, kind=c_int64_t), sum, c_null_ptr), stat)
    end function

    function sum_integers(team, values, stat) result(sum)
        type(tauto_team), intent(in) :: team
        integer(c_int64_t), intent(in), contiguous, target :: values(:)
        integer(c_int), intent(out), optional :: stat
        integer(c_int64_t) :: sum
        sum = 0
        call answer(c_sum_int64(team%handle, c_loc(values), size(values, kind=c_int64_t), sum, c_null_ptr), stat)
    end function

    ! Rounded once.
    function tauto_exact_sum(team, values, stat) result(sum)
        type(tauto_team), intent(in) :: team
        real(c_double), intent(in), contiguous, target :: values(:)
        integer(c_int), intent(out), optional :: stat
        real(c_double) :: sum
        sum = 0
        call answer(c_exact_sum(team%handle, c_loc(values), size(values, kind=c_int64_t), sum, c_null_ptr), stat)
    end function

    ! Scans replace each value by the sum up to it, or by `init` and the sum before it.
    subroutine inclusive_scan_doubles(team, values, stat)
        type(tauto_team), intent(in) :: team
        real(c_double), intent(inout), contiguous, target :: values(:)
        integer(c_int), intent(out), optional :: stat
        call answer(c_inclusive_scan_double(team%handle, c_loc(values), size(values, kind=c_int64_t), &
            c_loc(values), c_null_ptr), stat)
    end subroutine

    subroutine inclusive_scan_integers(team, values, stat)
        type(tauto_team), intent(in) :: team
        integer(c_int64_t), intent(inout), contiguous, target :: values(:)
        integer(c_int), intent(out), optional :: stat
        call answer(c_inclusive_scan_int64(team%handle, c_loc(values), size(values, kind=c_int64_t), c_loc(values), &
            c_null_ptr), stat)
    end subroutine

    subroutine exclusive_scan_doubles(team, values, init, stat)
        type(tauto_team), intent(in) :: team
        real(c_double), intent(inout), contiguous, target :: values(:)
        real(c_double), intent(in) :: init
        integer(c_int), intent(out), optional :: stat
        call answer(c_exclusive_scan_double(team%handle, c_loc(values), size(values, kind=c_int64_t), init, &
            c_loc(values), c_null_ptr), stat)
    end subroutine

    subroutine exclusive_scan_integers(team, values, init, stat)
        type(tauto_team), intent(in) :: team
        integer(c_int64_t), intent(inout), contiguous, target :: values(:)
        integer(c_int64_t), intent(in) :: init
        integer(c_int), intent(out), optional :: stat
        call answer(c_exclusive_scan_int64(team%handle, c_loc(values), size(values, kind=c_int64_t), init, &
            c_loc(values), c_null_ptr), stat)
    end subroutine

    subroutine sort_doubles(team, values, stat)
        type(tauto_team), intent(in) :: team
        real(c_double), intent(inout), contiguous, target :: values(:)
        integer(c_int), intent(out), optional :: stat
        call answer(c_sort_double(team%handle, c_loc(values), size(values, kind=c_int64_t), c_null_ptr), stat)
    end subroutine

    subroutine sort_integers(team, values, stat)
        type(tauto_team), intent(in) :: team
        integer(c_int64_t), intent(inout), contiguous, target :: values(:)
        integer(c_int), intent(out), optional :: stat
        call answer(c_sort_int64(team%handle, c_loc(values), size(values, kind=c_int64_t), c_null_ptr), stat)
    end subroutine

    subroutine sort_reals(team, values, stat)
        type(tauto_team), intent(in) :: team
        real(c_float), intent(inout), contiguous, target :: values(:)
        integer(c_int), intent(out), optional :: stat
        call answer(c_sort_float(team%handle, c_loc(values), size(values, kind=c_int64_t), c_null_ptr), stat)
    end subroutine

    subroutine sort_short_integers(team, values, stat)
        type(tauto_team), intent(in) :: team
        integer(c_int32_t), intent(inout), contiguous, target :: values(:)
        integer(c_int), intent(out), optional :: stat
        call answer(c_sort_int32(team%handle, c_loc(values), size(values, kind=c_int64_t), c_null_ptr), stat)
    end subroutine

    ! The place of the first least value, counted from 1; 0 where there is none.
    function tauto_minloc(team, values, stat) result(place)
        type(tauto_team), intent(in) :: team
        real(c_double), intent(in), contiguous, target :: values(:)
        integer(c_int), intent(out), optional :: stat
        integer(c_int64_t) :: place
        place = -1
        call answer(c_min_double(team%handle, c_loc(values), size(values, kind=c_int64_t), place, c_null_ptr), stat)
        place = place + 1
    end function

    function tauto_maxloc(team, values, stat) result(place)
        type(tauto_team), intent(in) :: team
        real(c_double), intent(in), contiguous, target :: values(:)
        integer(c_int), intent(out), optional :: stat
        integer(c_int64_t) :: place
        place = -1
        call answer(c_max_double(team%handle, c_loc(values), size(values, kind=c_int64_t), place, c_null_ptr), stat)
        place = place + 1
    end function

    ! As many bins of one width as there are counts, from low to high.
    subroutine tauto_histogram(team, values, low, high, counts, stat)
        type(tauto_team), intent(in) :: team
        real(c_double), intent(in), contiguous, target :: values(:)
        real(c_double), intent(in) :: low, high
        integer(c_int64_t), intent(out), contiguous, target :: counts(:)
        integer(c_int), intent(out), optional :: stat
        counts = 0
        call answer(c_histogram_double(team%handle, c_loc(values), size(values, kind=c_int64_t), low, high, &
            size(counts, kind=c_int64_t), c_loc(counts), c_null_ptr), stat)
    end subroutine

end module
