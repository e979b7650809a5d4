#pragma once
// Everything of the runtime's public interface.

#include <tauto/algorithm_options.hpp>
#include <tauto/collectives.hpp>
#include <tauto/error.hpp>
#include <tauto/exact_sum.hpp>
#include <tauto/machine.hpp>
#include <tauto/map_reduce.hpp>
#include <tauto/member.hpp>
#include <tauto/parallel_find.hpp>
#include <tauto/parallel_for.hpp>
#include <tauto/parallel_for_each.hpp>
#include <tauto/parallel_histogram.hpp>
#include <tauto/parallel_partition.hpp>
#include <tauto/parallel_reduce.hpp>
#include <tauto/parallel_scan.hpp>
#include <tauto/parallel_sort.hpp>
#include <tauto/parallel_transform_reduce.hpp>
#include <tauto/range.hpp>
#include <tauto/schedule.hpp>
#include <tauto/task_group.hpp>
#include <tauto/team.hpp>
#include <tauto/tiles.hpp>
#include <tauto/trace.hpp>
#include <tauto/wait.hpp>
