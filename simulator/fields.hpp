#pragma once
// The fields of one JSON object, read into variables.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "event_queue.hpp"

namespace tauto::sim {

using json = nlohmann::ordered_json;

// The request cannot be simulated; what() has the cause and the remedy.
struct input_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// No time is simulated that is longer than this; of a longer one the conversion would be undefined.
constexpr double most_nanoseconds = 0x1p62;

inline nanoseconds to_nanoseconds(double seconds) {
    return static_cast<nanoseconds>(std::clamp(seconds * 1e9 + 0.5, -most_nanoseconds, most_nanoseconds));
}

class fields {
  public:
    // `name` is for messages; the object must outlive this.
    fields(const json& from, std::string name) : from_(from), name_(std::move(name)) {}

    // An optional field: if it is missing or null, `into` is unchanged.
    template <class Value>
    void read(const char* key, Value& into) {
        known_.insert(key);
        const auto found = from_.find(key);
        if (found != from_.end() && !found->is_null()) convert(key, *found, into);
    }
    template <class Value>
    void need(const char* key, Value& into) const {
        convert(key, needed(key), into);
    }
    void need_seconds(const char* key, nanoseconds& into) const {
        double seconds = 0;
        need(key, seconds);
        into = to_nanoseconds(seconds);
    }
    void need_seconds(const char* key, double& into_nanoseconds) const {
        need(key, into_nanoseconds);
        into_nanoseconds *= 1e9;
    }
    void need_watts(const char* key, std::int64_t& milliwatts) const {
        double watts = 0;
        need(key, watts);
        milliwatts =
            static_cast<std::int64_t>(std::clamp(watts * 1000 + 0.5, -most_nanoseconds, most_nanoseconds));
    }
    [[nodiscard]] fields table(const char* key) const { return {needed(key), key}; }
    [[nodiscard]] const json& needed(const char* key) const {
        const auto found = from_.find(key);
        if (found == from_.end())
            throw input_error(name_ + " has no '" + key +
                              "'; let tauto simulate describe the machine, from a machine file");
        return *found;
    }
    // Throws for a field that was not read.
    void refuse_others() const {
        for (const auto& [key, value] : from_.items()) {
            if (known_.count(key) > 0) continue;
            std::string list;
            for (const auto& known : known_) list += (list.empty() ? "" : ", ") + known;
            throw input_error(name_ + " has no '" + key + "'; it may have " + list);
        }
    }

  private:
    template <class Value>
    static void convert(const char* key, const json& value, Value& into) {
        try {
            if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>)
                refuse_beyond<Value>(key, value);
            into = value.get<Value>();
        } catch (const json::exception&) {
            throw input_error(std::string("'") + key + "' is " + value.dump() + ", which it cannot be");
        }
    }

    // Of a number beyond the type the conversion is undefined.
    template <class Value>
    static void refuse_beyond(const char* key, const json& value) {
        if (!value.is_number()) return;
        const auto number = value.get<double>();
        constexpr double bound = 0x1p62;
        const double most = std::min(bound, static_cast<double>(std::numeric_limits<Value>::max()));
        const double least = std::max(-bound, static_cast<double>(std::numeric_limits<Value>::min()));
        if (!(number >= least && number <= most))
            throw input_error(std::string("'") + key + "' is " + value.dump() + ", which it cannot be");
    }

    const json& from_;
    std::string name_;
    std::set<std::string> known_;
};

}  // namespace tauto::sim
