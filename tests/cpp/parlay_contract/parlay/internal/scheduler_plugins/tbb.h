#ifndef PARLAY_INTERNAL_SCHEDULER_PLUGINS_TBB_HPP_
#error "the scheduler on oneTBB was read"
#endif
