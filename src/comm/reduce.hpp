// comm/reduce: reductions over structs whose fields say how they combine.
//
//   struct CallFacts {
//     bool failed = false;
//     int64_t end = 0;
//     constexpr void combine(auto& by) { by.any(failed).max(end); }
//   };
//   reduce(comm, facts);  // every task has the combined fields
//
// combine() names each field once:
//   max, min  the largest or smallest value
//   any       true if the field is true on any task
//   range     the smallest and largest value of a MinMax
//   sum       the sum; a struct with sums has no other fields
// Fields are numbers that fit into an int64_t, enumerations, or arrays of these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/comm.hpp"
#include "comm/constants.hpp"

namespace sheaf {

// The smallest and largest value of a number over the tasks; before the reduction, the number of this task.
struct MinMax {
  int64_t min = 0;
  int64_t max = 0;

  constexpr MinMax() = default;
  constexpr explicit MinMax(int64_t number) : min(number), max(number) {}
  bool is_same() const { return min == max; }  // all tasks have passed the same number
  constexpr void combine(auto& by) { by.range(*this); }
};

// Passes the fields of structs to or from the words of a message, in order. A minimum travels as the maximum
// of the complement, which exists for every number.
class FieldWords {
 public:
  enum class ReductionStep : uint8_t { count, pack, unpack };
  constexpr explicit FieldWords(ReductionStep step = ReductionStep::count, std::span<int64_t> words = {})
      : step_(step), words_(words) {}

  constexpr FieldWords& max(auto& field) { return pass(field, 0); }
  constexpr FieldWords& min(auto& field) { return pass(field, -1); }
  constexpr FieldWords& any(bool& field) { return pass(field, 0); }
  constexpr FieldWords& sum(auto& field) {
    sums_ = true;
    return pass(field, 0);
  }
  constexpr FieldWords& range(MinMax& field) { return min(field.min).max(field.max); }
  template <size_t count>
  constexpr FieldWords& range(std::array<MinMax, count>& fields) {
    for (MinMax& field : fields) range(field);
    return *this;
  }

  // Returns the words of a struct of this type, without a message. Every struct has the same number.
  template <class T>
  static constexpr FieldWords of() {
    FieldWords words;
    T fields{};
    fields.combine(words);
    return words;
  }
  constexpr size_t count() const { return used_; }
  constexpr Reduction reduction() const { return sums_ ? Reduction::sum : Reduction::max; }

 private:
  template <class Field>
  constexpr FieldWords& pass(Field& field, int64_t flip) {
    if (step_ == ReductionStep::pack) words_[used_] = static_cast<int64_t>(field) ^ flip;
    if (step_ == ReductionStep::unpack) field = static_cast<Field>(words_[used_] ^ flip);
    ++used_;
    return *this;
  }
  template <class Field, size_t count>
  constexpr FieldWords& pass(std::array<Field, count>& fields, int64_t flip) {
    for (Field& field : fields) pass(field, flip);
    return *this;
  }

  const ReductionStep step_;
  const std::span<int64_t> words_;
  size_t used_ = 0;
  bool sums_ = false;
};

template <class T>
concept Reducible = requires(T fields, FieldWords words) { fields.combine(words); };

// Calls combine(words) with the words of all structs in `words`, which has their number, and sets the fields
// from the words afterwards.
template <Reducible T, class Combine>
void as_words(std::span<T> structs, std::span<int64_t> words, Combine combine) {
  const auto pass = [&](FieldWords::ReductionStep step) {
    FieldWords by(step, words);
    for (T& fields : structs) fields.combine(by);
  };
  pass(FieldWords::ReductionStep::pack);
  combine(words);
  pass(FieldWords::ReductionStep::unpack);
}

// Collective. Replaces every field of `structs`, which have the same number and order on all tasks, by its
// combination over the tasks. Costs one reduction.
template <Reducible T>
void reduce_each(Comm& comm, std::span<T> structs) {
  std::vector<int64_t> words(structs.size() * FieldWords::of<T>().count());
  as_words<T>(structs, words, [&](auto all) { comm.reduce(FieldWords::of<T>().reduction(), all); });
}
template <Reducible T>
void reduce(Comm& comm, T& fields) {
  std::array<int64_t, FieldWords::of<T>().count()> words{};
  as_words<T>({&fields, 1}, words, [&](auto all) { comm.reduce(FieldWords::of<T>().reduction(), all); });
}

// Collective. Throws as agree() does (comm/agree.hpp) if a task passes an error; otherwise replaces the
// fields as reduce() does. Costs one reduction.
template <Reducible T>
void agree(Comm& comm, const std::optional<Error>& mine, T& fields) {
  static_assert(FieldWords::of<T>().reduction() == Reduction::max);
  static_assert(FieldWords::of<T>().count() <= comm_constants::max_agreed_values);
  std::array<int64_t, FieldWords::of<T>().count()> words{};
  as_words<T>({&fields, 1}, words, [&](auto all) { agree(comm, mine, all); });
}

}  // namespace sheaf
