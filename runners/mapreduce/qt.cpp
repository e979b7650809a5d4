// The mapreduce study on QtConcurrent::blockingMappedReduced of Qt 6 or Qt 5.
//
// In Qt 6 it is mappedReduced and a wait for the future: only the pool's threads map. In Qt 5 the caller maps
// too, beside all threads of the pool, and a pool has at least one; so there the two steps of Qt 6 are taken,
// and `threads` means the same.
//
// `unpinned` is what a program gets that asks for nothing: Qt's global pool, whose threads run on any of the
// CPUs and end after 30 s without work.

#include <QThreadPool>
#include <QtConcurrentMap>

#include <array>
#include <latch>
#include <memory>

#include "runners/mapreduce/run.hpp"

namespace {

using namespace tauto::runner;

constexpr std::string_view unpinned = "unpinned";

QThreadPool* pool_for(const options& asked) {
#if QT_VERSION >= QT_VERSION_CHECK(6, 0, 0)
    static QThreadPool pool;
    return asked.schedule == unpinned ? QThreadPool::globalInstance() : &pool;
#else
    static_cast<void>(asked);
    return QThreadPool::globalInstance();
#endif
}

// A job for each thread that ends only when all have begun: no thread can take two. waitForDone() would end
// the threads.
void pin_threads(QThreadPool& pool, const options& asked) {
    const auto all_begun = std::make_shared<std::latch>(asked.threads + 1);
    for (int rank = 0; rank < asked.threads; ++rank)
        pool.start([all_begun, cpu = asked.cpu_of(rank)] {
            pin_to(std::array{cpu});
            all_begun->arrive_and_wait();
        });
    all_begun->arrive_and_wait();
}

// Qt 5 asks a function object for its result_type.
struct mapping {
    using result_type = quint64;
    task_hash hash;
    quint64 operator()(const hash_task& task) const { return hash(task); }
};

class qt_adapter {
  public:
    static constexpr std::string_view executable = "tauto-mapreduce-qt";

    static description describe() {
        description qt;
        qt.runtime = "qt";
        qt.library = "Qt";
        qt.library_version = qVersion();
        qt.schedules = {{"unordered", false}, {"ordered", false}, {std::string{unpinned}, false}};
        return qt;
    }

    explicit qt_adapter(const mapreduce_request& asked)
        : pool_{*pool_for(asked)},
          order_{asked.schedule == "ordered" ? QtConcurrent::OrderedReduce : QtConcurrent::UnorderedReduce} {
        pool_.setMaxThreadCount(asked.threads);
        if (asked.schedule == unpinned) {
            pin_to(asked.cpus);  // its threads inherit all of them
            return;
        }
        pool_.setExpiryTimeout(-1);
        pin_threads(pool_, asked);
    }

    // The tasks are handed over as iterators: a sequence would be copied.
    std::uint64_t map_reduce(const std::vector<hash_task>& tasks, const task_hash& hash) {
        const auto add = [](quint64& sum, quint64 value) { sum += value; };
        const QtConcurrent::ReduceOptions how = order_ | QtConcurrent::SequentialReduce;
#if QT_VERSION >= QT_VERSION_CHECK(6, 0, 0)
        return QtConcurrent::blockingMappedReduced<quint64>(&pool_, tasks.begin(), tasks.end(), mapping{hash},
                                                            add, how);
#else
        return QtConcurrent::mappedReduced<quint64>(tasks.begin(), tasks.end(), mapping{hash}, add, how)
            .result();
#endif
    }

    std::string diagnosis() const {
        return "the pool takes " + std::to_string(pool_.maxThreadCount()) + " threads";
    }

  private:
    QThreadPool& pool_;
    QtConcurrent::ReduceOption order_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_mapreduce<qt_adapter>(argc, argv);
}
