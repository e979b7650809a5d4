#include "collective.hpp"

#include <algorithm>

namespace tauto::sim {

namespace {

constexpr double word_bytes = 8;
// One addition a word, next to the copy.
constexpr double reduce_seconds_per_byte = 1.0 / 16e9;

// All ranks take the same steps; each step is one exchange of messages. Each rank has a clock.
class node {
  public:
    node(const machine& on, int ranks) : machine_(on), clocks_(ranks, 0.0) {}

    [[nodiscard]] int ranks() const { return static_cast<int>(clocks_.size()); }
    [[nodiscard]] double seconds() const { return *std::max_element(clocks_.begin(), clocks_.end()) * 1e-9; }

    // Every rank r sends `bytes` to partner(r) and waits for the message of sender(r).
    template <class Sender>
    void exchange(double bytes, Sender&& sender) {
        std::vector<double> next(clocks_.size());
        for (int rank = 0; rank < ranks(); ++rank) {
            const int from = sender(rank);
            const double own = clocks_[rank];
            if (from == rank || from < 0) {
                next[rank] = own;
                continue;
            }
            next[rank] = std::max(own, clocks_[from]) + message(bytes, from, rank);
            ++messages;
            moved += bytes;
        }
        clocks_ = next;
    }
    // The given number of steps around a ring: each rank sends to the next and adds. All ranks begin
    // together, so the receiver of the slowest message is last after every step. Its clock is enough.
    void ring(double bytes, int steps, double summed_bytes = 0) {
        double slowest = 0;
        for (int rank = 0; rank < ranks(); ++rank)
            slowest = std::max(slowest, message(bytes, (rank + ranks() - 1) % ranks(), rank));
        double clock = *std::max_element(clocks_.begin(), clocks_.end());
        for (int step = 0; step < steps; ++step)
            clock = clock + slowest + summed_bytes * reduce_seconds_per_byte * 1e9;
        std::fill(clocks_.begin(), clocks_.end(), clock);
        messages += std::int64_t{steps} * ranks();
        moved += bytes * steps * ranks();
    }
    void compute(double bytes) {
        for (double& clock : clocks_) clock += bytes * reduce_seconds_per_byte * 1e9;
    }

    // One rank reads another's data while the others wait.
    void read(double bytes) {
        for (double& clock : clocks_) clock += bytes / machine_.message_bytes_per_second * 1e9;
        moved += bytes;
    }

    std::int64_t messages = 0;
    double moved = 0;

  private:
    // A message is copied into the shared buffer and out of it: two copies, each a read and a write, by all
    // ranks at once. A message above the eager limit is announced first and sent after the receiver's answer.
    [[nodiscard]] double message(double bytes, int from, int to) const {
        const double all = machine_.copy_bytes_per_second / (4.0 * ranks());
        const double rate = std::min(machine_.message_bytes_per_second / 2, all);
        const int per_package = std::max(1, machine_.cores() / machine_.packages);
        const bool far = from / per_package != to / per_package;
        double ns = 2 * machine_.message_overhead + machine_.message_latency + bytes / rate * 1e9;
        if (far) ns += static_cast<double>(machine_.line_transfer_packages - machine_.line_transfer);
        if (bytes > machine_.eager_bytes) ns += machine_.rendezvous_latency;
        return ns;
    }

    const machine& machine_;
    std::vector<double> clocks_;
};

int power_of_two_below(int n) {
    int power = 1;
    while (power * 2 <= n) power *= 2;
    return power;
}

void recursive_doubling(node& all, double bytes) {
    const int whole = power_of_two_below(all.ranks());
    const int rest = all.ranks() - whole;
    if (rest > 0) {
        all.exchange(bytes, [&](int r) { return r < rest ? r + whole : -1; });
        all.compute(bytes);
    }
    for (int distance = 1; distance < whole; distance *= 2) {
        all.exchange(bytes, [&](int r) { return r < whole ? r ^ distance : -1; });
        all.compute(bytes);
    }
    if (rest > 0) all.exchange(bytes, [&](int r) { return r >= whole ? r - whole : -1; });
}

void ring_reduce(node& all, double bytes) {
    const int p = all.ranks();
    all.ring(bytes / p, p - 1, bytes / p);
    all.ring(bytes / p, p - 1);
}

// Reduce-scatter by halving, gather by doubling (Rabenseifner).
void halving_doubling(node& all, double bytes) {
    const int whole = power_of_two_below(all.ranks());
    const int rest = all.ranks() - whole;
    if (rest > 0) {
        all.exchange(bytes, [&](int r) { return r < rest ? r + whole : -1; });
        all.compute(bytes);
    }
    double part = bytes;
    for (int distance = whole / 2; distance >= 1; distance /= 2) {
        part /= 2;
        all.exchange(part, [&](int r) { return r < whole ? r ^ distance : -1; });
        all.compute(part);
    }
    for (int distance = 1; distance < whole; distance *= 2) {
        all.exchange(part, [&](int r) { return r < whole ? r ^ distance : -1; });
        part *= 2;
    }
    if (rest > 0) all.exchange(bytes, [&](int r) { return r >= whole ? r - whole : -1; });
}

void gather_doubling(node& all, double bytes_each) {
    double part = bytes_each;
    for (int distance = 1; distance < all.ranks(); distance *= 2) {
        all.exchange(part, [&](int r) { return (r ^ distance) < all.ranks() ? r ^ distance : r - 1; });
        part *= 2;
    }
}

void gather_bruck(node& all, double bytes_each) {
    const int p = all.ranks();
    int have = 1;
    while (have < p) {
        const int more = std::min(have, p - have);
        all.exchange(bytes_each * more, [&](int r) { return (r + have) % p; });
        have += more;
    }
}

void gather_ring(node& all, double bytes_each) {
    all.ring(bytes_each, all.ranks() - 1);
}

// coll/tuned of Open MPI 1.x: the limits of its fixed decision rules.
std::string all_reduce_ompi(node& all, double bytes, std::int64_t words) {
    if (bytes < 10'000 || words <= all.ranks()) {
        recursive_doubling(all, bytes);
        return "recursive doubling";
    }
    ring_reduce(all, bytes);
    return "ring";
}

std::string all_gather_ompi(node& all, double bytes_each) {
    const double whole = bytes_each * all.ranks();
    if (whole < 50'000) {
        if (all.ranks() == power_of_two_below(all.ranks())) {
            gather_doubling(all, bytes_each);
            return "recursive doubling";
        }
        gather_bruck(all, bytes_each);
        return "Bruck";
    }
    gather_ring(all, bytes_each);
    return all.ranks() % 2 == 0 ? "neighbour exchange" : "ring";
}

// MVAPICH2 1.9: short messages go through a shared buffer, longer ones by halving and doubling.
std::string all_reduce_mvapich2(node& all, double bytes) {
    if (bytes <= 4096) {
        // The first rank reads the operand of every other rank from its cache and adds it, one after the
        // other. Then all ranks read the sum.
        for (int from = 1; from < all.ranks(); ++from) {
            all.read(bytes);
            all.compute(bytes);
        }
        all.exchange(bytes, [](int r) { return r == 0 ? 1 : 0; });
        all.exchange(bytes, [](int r) { return r == 0 ? -1 : 0; });
        return "shared buffer";
    }
    halving_doubling(all, bytes);
    return "halving and doubling";
}

std::string all_gather_mvapich2(node& all, double bytes_each) {
    if (bytes_each * all.ranks() < 512 * 1024 && all.ranks() == power_of_two_below(all.ranks())) {
        gather_doubling(all, bytes_each);
        return "recursive doubling";
    }
    gather_ring(all, bytes_each);
    return "ring";
}

// Threads publish pointers and read each other's data: one transfer for each line, no copy into a buffer.
collective_result among_threads(const machine& on, const collective_request& asked) {
    const double bytes = static_cast<double>(asked.words) * word_bytes;
    const double transfer =
        static_cast<double>(on.packages > 1 ? on.line_transfer_packages : on.line_transfer);
    // Arrival and release: a barrier, whose cost grows with the depth of the tree.
    double ns = static_cast<double>(scaled_to(on.barrier, on.cost_members, asked.ranks));
    const double all_read = asked.operation == "all_gather"
                                ? bytes * (asked.ranks - 1) / std::max(1, asked.ranks)
                                : 2 * bytes * (asked.ranks - 1) / std::max(1, asked.ranks);
    if (asked.operation == "barrier") return {ns * 1e-9, "flags", asked.ranks, 0};
    if (bytes > 56) {
        const double rate = std::min(on.message_bytes_per_second,
                                     on.copy_bytes_per_second / (2.0 * std::max(1, asked.ranks)));
        ns += transfer + all_read / rate * 1e9;
        if (asked.operation == "all_reduce") ns += bytes * reduce_seconds_per_byte * 1e9 + transfer;
    }
    return {ns * 1e-9, bytes > 56 ? "direct reads" : "in the flags' lines", asked.ranks,
            all_read * asked.ranks};
}

}  // namespace

collective_result simulate_collective(const machine& on, const collective_request& asked) {
    if (asked.ranks < 1 || asked.ranks > 100'000)
        throw input_error("ranks must be from 1 to 100000, not " + std::to_string(asked.ranks));
    if (asked.words < 0 || asked.words > 1'000'000'000)
        throw input_error("words must be from 0 to 1000000000, not " + std::to_string(asked.words));
    const bool reduce = asked.operation == "all_reduce";
    if (!reduce && asked.operation != "all_gather" && asked.operation != "barrier")
        throw input_error("operation '" + asked.operation +
                          "' is unknown; choose from all_reduce, all_gather, barrier");
    if (asked.ranks == 1) return {0, "nothing to do", 0, 0};
    if (asked.library == "threads") return among_threads(on, asked);
    if (asked.library != "ompi-1.6" && asked.library != "mvapich2-1.9")
        throw input_error("library '" + asked.library +
                          "' is unknown; choose from ompi-1.6, mvapich2-1.9, threads");
    node all(on, asked.ranks);
    const double bytes = static_cast<double>(asked.words) * word_bytes;
    collective_result result;
    if (asked.operation == "barrier") {
        recursive_doubling(all, 0);
        result.algorithm = "recursive doubling";
    } else if (asked.library == "ompi-1.6") {
        result.algorithm =
            reduce ? all_reduce_ompi(all, bytes, asked.words) : all_gather_ompi(all, bytes / asked.ranks);
    } else {
        result.algorithm =
            reduce ? all_reduce_mvapich2(all, bytes) : all_gather_mvapich2(all, bytes / asked.ranks);
    }
    result.seconds = all.seconds();
    result.messages = all.messages;
    result.bytes_moved = all.moved;
    return result;
}

}  // namespace tauto::sim
