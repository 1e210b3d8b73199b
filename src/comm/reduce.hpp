// comm/reduce: reduces all fields of a struct in one collective call. The combine() of the struct names an
// operator for each field.
//
//   struct WriteFacts {
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
// A field is a bool, an enumeration, an integer that fits into int64_t, or a std::array of one of these
// types; `range` takes a MinMax or a std::array of MinMax.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/comm.hpp"
#include "comm/constants.hpp"

namespace sheaf {

// Minimum and maximum of a number over all tasks. Before the reduction, both are the number of this task.
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
  enum class FieldPass : uint8_t { count, pack, unpack };
  constexpr explicit FieldWords(FieldPass step = FieldPass::count, std::span<int64_t> words = {})
      : step_(step), words_(words) {}

  constexpr FieldWords& max(auto& field) { return pass(field, 0); }
  constexpr FieldWords& min(auto& field) { return pass(field, -1); }
  constexpr FieldWords& any(bool& field) { return pass(field, 0); }
  constexpr FieldWords& sum(auto& field) {
    const size_t before = used_;
    pass(field, 0);
    sums_ += used_ - before;
    return *this;
  }
  constexpr FieldWords& range(MinMax& field) { return min(field.min).max(field.max); }
  template <size_t count>
  constexpr FieldWords& range(std::array<MinMax, count>& fields) {
    for (MinMax& field : fields) range(field);
    return *this;
  }

  // Counts the words of a struct of type T. The count is the same for every value.
  template <class T>
  static constexpr FieldWords of() {
    FieldWords words;
    T fields{};
    fields.combine(words);
    return words;
  }
  constexpr size_t count() const { return used_; }
  constexpr bool is_uniform() const { return sums_ == 0 || sums_ == used_; }  // one reduction suffices
  constexpr Reduction reduction() const { return sums_ > 0 ? Reduction::sum : Reduction::max; }

 private:
  template <class Field>
  constexpr FieldWords& pass(Field& field, int64_t flip) {
    if (step_ == FieldPass::pack) words_[used_] = static_cast<int64_t>(field) ^ flip;
    if (step_ == FieldPass::unpack) field = static_cast<Field>(words_[used_] ^ flip);
    ++used_;
    return *this;
  }
  template <class Field, size_t count>
  constexpr FieldWords& pass(std::array<Field, count>& fields, int64_t flip) {
    for (Field& field : fields) pass(field, flip);
    return *this;
  }

  const FieldPass step_;
  const std::span<int64_t> words_;
  size_t used_ = 0;
  size_t sums_ = 0;  // words of sums
};

template <class T>
concept Reducible = requires(T fields, FieldWords words) { fields.combine(words); };

// Packs the fields of `structs` into `words`, which must have exactly as many elements. Calls combine(words),
// then unpacks the fields.
template <Reducible T, class Combine>
void as_words(std::span<T> structs, std::span<int64_t> words, Combine combine) {
  SHEAF_DEBUG_ASSERT(words.size() == structs.size() * FieldWords::of<T>().count());
  const auto pass = [&](FieldWords::FieldPass step) {
    FieldWords by(step, words);
    for (T& fields : structs) fields.combine(by);
  };
  pass(FieldWords::FieldPass::pack);
  combine(words);
  pass(FieldWords::FieldPass::unpack);
}

// Likewise for one struct.
template <Reducible T, class Combine>
void as_words(T& fields, Combine combine) {
  std::array<int64_t, FieldWords::of<T>().count()> words{};
  as_words<T>(std::span(&fields, 1), words, combine);
}

// Collective. Combines `structs` over the tasks, element by element; every task gets the result. All tasks
// must pass equally many structs, in the same order. Costs one reduction.
template <Reducible T>
void reduce_each(Comm& comm, std::span<T> structs) {
  static_assert(FieldWords::of<T>().is_uniform());
  std::vector<int64_t> words(structs.size() * FieldWords::of<T>().count());
  as_words<T>(structs, words, [&](auto all) { comm.reduce(FieldWords::of<T>().reduction(), all); });
}
template <Reducible T>
void reduce(Comm& comm, T& fields) {
  static_assert(FieldWords::of<T>().is_uniform());
  as_words(fields, [&](auto all) { comm.reduce(FieldWords::of<T>().reduction(), all); });
}

// Collective. Throws as agree() does (comm/agree.hpp) if a task passes an error; otherwise replaces the
// fields as reduce() does. Costs one reduction.
template <Reducible T>
void agree(Comm& comm, const std::optional<Error>& mine, T& fields) {
  static_assert(FieldWords::of<T>().reduction() == Reduction::max);
  static_assert(FieldWords::of<T>().count() <= comm_constants::max_agreed_values);
  as_words(fields, [&](auto all) { agree(comm, mine, all); });
}

// Collective. Returns true on all tasks if any task passes true.
inline bool any_task(Comm& comm, bool mine) {
  int64_t some = mine;
  comm.all_max(std::span(&some, 1));
  return some != 0;
}

}  // namespace sheaf
