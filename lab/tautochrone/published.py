"""What the published claims say, by their ids: for studies that measure them and the simulator."""

from __future__ import annotations

from collections.abc import Mapping

PUBLISHED: Mapping[str, str] = {
    "H1": "three ways to run it: equal shares over all cores, over the fast cores only, dynamic over all",
    "H2": "up to about n = 2000 the fast cores alone with equal shares are fastest",
    "H3": "above that dynamic over all cores is fastest, by up to 30 %",
    "H4": "the bound S = T_seq (T_P + T_E) / (T_P T_E) is reached at some sizes, within 3 %",
    "H5": "chunk 2 is at least 5 % faster than chunk 1 where dequeuing costs; larger chunks add within 3 %",
    "H6": "with chunk 2 the bound is exceeded between n = 3000 and 5000, nowhere above 6000",
    "H7": "the fast cores' miss ratio alone is lower everywhere except from n = 3000 to 5000",
    "H8": "at large n memory rules: dynamic over all and the fast cores alone are nearly equal, "
    "8 to 18 % faster than equal shares over all",
    "H9": "at large n dynamic on the fast cores is 1 to 5 % faster than equal shares there",
    "H10": "one fast core is worth 3.3 to 4.5 slow ones",
    "H11": "equal shares over all lose to the fast cores alone once s_P/s_E > 1 + E/P",
    "H12": "say how many cores of which kind ran, the memory's share, and compare with a BLAS",
    "M1": "50 tasks: the speed-up steps from 16 to 17 threads (four tasks on some → three on all) and from "
    "21 to 25 (three on some → at most two): ceil(50 / threads)",
    "M2": "tasks of 3 ms: nearly linear, 12.7× on 16 threads and 23× on 32; Qt and oneTBB alike, within 5 %",
    "M3": "tasks of 1 ms: oneTBB clearly better, Qt still rises",
    "M4": "tasks of 0.4 ms: oneTBB good; Qt falls from 11 threads on",
    "M5": "the cause is Qt's mutex: 60 % of the time spent waiting against 30 % for oneTBB; without load the "
    "clock drops, so that even the useful part takes twice as long",
    "M6": "the same sweep on what is there, down to tasks of 1 µs, where few cores show the effect",
    "P1": "balanced threads nearly halve the time: encryption 50 s serial, 25 s with two threads",
    "P2": "energy brought to the longest time: 150 mWh serial, 110 mWh with two threads; the platform's "
    "falls too",
    "P3": "unbalanced threads: 64 s at the highest clock becomes about 120 s under the adaptive policy, "
    "energy rises",
    "P4": "the busy thread migrates, each core looks half busy, both clocks drop; a governor that looks at "
    "the whole package restores the 64 s and the energy",
    "P5": "two programs side by side: free, both pinned, one pinned: no real difference in time; pinning "
    "costs slightly more energy",
    "P6": "balance the threads, synchronise rarely, fix the governor, leave placement to the system",
    "P7": "a domain split keeps its balance when the work changes; a functional split loses it",
    "N1": "ordinary OpenMP starts at least three parallel loops a block; fork/join dominates when few are "
    "active",
    "N2": "one parallel region around everything needs private copies and a rewrite, as much as MPI does",
    "N3": "i-parallel: one all_gather a block; j-parallel: one all_reduce a block",
    "N4": "on 16 cores Open MPI 1.6.5's all_reduce has peaks at 1k and 8k words; MVAPICH2 1.9 is worse at "
    "512 words than at 1024",
    "N5": "model for 2048 particles: 16 cores give a little over 8× when many are active (i-parallel)",
    "N6": "below about 100 active particles j-parallel is faster",
    "N7": "with many active the limit is all_gather's throughput, not its latency",
    "N8": "splitting over i and j at once lowers what each core communicates; a ring or shared bus limits "
    "the gain",
    "N9": "threads reading each other's data directly need none of the copies: how much better than 8× is "
    "possible",
}
