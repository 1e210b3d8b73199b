// Explores all interleavings of three tasks in the protocol of the shared-memory windows. No task may sleep
// for ever, and no two windows may use a slot at the same time.
#include "exchange/aggregator_protocol.hpp"

#include <gtest/gtest.h>

#include <array>

#include "support/explorer.hpp"

namespace sheaf::exchange::window_protocol_test {
namespace {

using Word = test::ModelWord;

constexpr int tasks = 3;
constexpr int max_windows = 6;
constexpr int max_slots = 4;
constexpr uint64_t begin_at =
    12;  // first number that earlier calls left unused; a multiple of every number of slots

struct WindowProgram {
  int windows = 4;
  int slots = 2;
  int tokens = 1;  // 0: task 0 is an aggregator and writes or reads all windows
  bool writes = true;
  std::array<uint8_t, max_windows> parts{};  // bit mask of the tasks that have a part in each window
};

// A slot as seen by the tasks that use it.
struct SlotMemory {
  uint8_t window = 0;  // number of the window in the call, + 1; 0: the slot is unused
  uint8_t parts = 0;   // bit mask of the tasks that have put or taken their part
  uint8_t copying = 0;
  uint8_t moving = 0;  // bit mask of the tasks that transfer the window to or from the file
};

struct WindowModel {
  const WindowProgram* program;
  std::array<Word, max_slots> states{}, arrivals{};
  std::array<Word, 2> tokens_{};
  std::array<SlotMemory, max_slots> memory{};
  std::array<uint8_t, max_windows> transferred{};

  // The interface that the steps in exchange/window_protocol require.
  uint64_t begin() const { return begin_at; }
  uint64_t end() const { return begin_at + static_cast<uint64_t>(program->windows); }
  uint64_t slots() const { return static_cast<uint64_t>(program->slots); }
  bool has_aggregators() const { return program->tokens == 0; }
  int tokens() const { return program->tokens; }
  int token_of(uint64_t number) const {
    return static_cast<int>(number % static_cast<uint64_t>(program->tokens));
  }
  uint8_t mask(uint64_t number) const { return program->parts[number - begin_at]; }
  uint32_t due(uint64_t number) const { return static_cast<uint32_t>(std::popcount(mask(number))); }
  uint32_t free_for(uint64_t number) const { return WindowSlotState::free_for(number, program->slots); }
  size_t slot(uint64_t number) const { return number % static_cast<uint64_t>(program->slots); }
  Word& state(uint64_t number) { return states[slot(number)]; }
  Word& arrived(uint64_t number) { return arrivals[slot(number)]; }
  Word& io_token(int number) { return tokens_[static_cast<size_t>(number)]; }

  uint64_t next_own(int task, uint64_t number) const {
    while (number < end() && (mask(number) >> task & 1) == 0) ++number;
    return number;
  }

  std::string use(int task, uint64_t number, bool transfers, bool begins) {
    SlotMemory& own = memory[slot(number)];
    const auto window = static_cast<uint8_t>(number - begin_at + 1);
    const bool fills =
        transfers != program->writes;  // fills the slot: a task when writing, the file when reading
    const auto bit = static_cast<uint8_t>(1 << task);
    if (begins) {
      if ((fills || mask(number) == 0) && own.window == 0) own = {window, 0, 0, 0};
      if (own.window != window) return "a slot is used for two windows";
      if (transfers && own.copying != 0) return "a window is moved while tasks copy";
      if (!transfers && own.moving != 0) return "a task copies while the window is moved";
      if (transfers && program->writes && own.parts != mask(number))
        return "a window is written that is not full";
      if (transfers && transferred[number - begin_at]++ != 0) return "a window is moved twice";
      if (!transfers && !program->writes && transferred[number - begin_at] == 0)
        return "a task takes what was not read";
      (transfers ? own.moving : own.copying) |= bit;
      return "";
    }
    if (own.window != window) return "a slot was taken away from who uses it";
    (transfers ? own.moving : own.copying) &= static_cast<uint8_t>(~bit);
    if (!transfers) own.parts |= bit;
    const bool over = program->writes ? transfers : own.parts == mask(number);
    if (over) own = {};
    return "";
  }
};

struct Using {
  uint64_t number = 0;
  uint8_t what = 0;  // 1: copies a part, 2: transfers the window
};

// The steps of an aggregator for one window.
enum class AggregatorStage : uint8_t { own, await_free, await_full, move, moved, done };

struct WindowTask {
  PackProtocol<Word> puts{0};
  UnpackProtocol<Word> takes{0};
  AggregatorProtocol<Word> aggregator;
  uint64_t window = begin_at;  // next window of the aggregator
  Using uses;
  int64_t sleeps_on = -1;  // index of the word from the first word of the model, or -1
  AggregatorStage stage = AggregatorStage::own;
  bool left = false;
};

struct WindowModelState {
  WindowModel model;
  std::array<WindowTask, tasks> task{};

  bool can_go(int t) const {
    return !task[static_cast<size_t>(t)].left && task[static_cast<size_t>(t)].sleeps_on < 0;
  }
  bool has_left(int t) const { return task[static_cast<size_t>(t)].left; }

  int64_t place_of(const Word* word) const { return word - model.states.data(); }
  Word& word_at(int64_t place) { return model.states.data()[place]; }

  std::string step(int t) {
    WindowTask& own = task[static_cast<size_t>(t)];
    if (const Using used = std::exchange(own.uses, {}); used.what != 0)
      if (auto wrong = model.use(t, used.number, used.what == 2, false); !wrong.empty()) return wrong;
    const Action<Word> act = model.has_aggregators() && t == 0 ? keep(own) : go(t, own, model.end());
    switch (act.what) {
      case ActionKind::done:
        own.left = true;
        return "";
      case ActionKind::sleep:
        if (act.word->value == act.value) own.sleeps_on = place_of(act.word);
        return "";
      case ActionKind::wake:
        for (WindowTask& other : task)
          if (other.sleeps_on == place_of(act.word)) other.sleeps_on = -1;
        return "";
      case ActionKind::copy:
      case ActionKind::transfer:
        own.uses = {act.number, static_cast<uint8_t>(act.what == ActionKind::copy ? 1 : 2)};
        return model.use(t, act.number, act.what == ActionKind::transfer, true);
      default:
        return "";
    }
  }

  Action<Word> go(int t, WindowTask& own, uint64_t until) {
    const auto next_own = [&](uint64_t number) { return model.next_own(t, number); };
    return model.program->writes ? own.puts.step(model, next_own, until)
                                 : own.takes.step(model, next_own, until, 1);
  }

  // When writing, the aggregator puts its own parts up to the window and then writes the window when it is
  // full. When reading, it reads the window first.
  Action<Word> keep(WindowTask& own) {
    if (own.window == model.end())
      return model.program->writes ? Action<Word>{ActionKind::done} : go(0, own, model.end());
    const auto then = [&](Action<Word> act, AggregatorStage next) {
      if (act.what != ActionKind::done) return act;
      own.stage = next;
      return Action<Word>{};
    };
    switch (own.stage) {
      case AggregatorStage::own:
        // The aggregator reads two windows before it takes its own parts of the first one.
        if (model.program->writes) return then(go(0, own, own.window + 1), AggregatorStage::await_free);
        if (own.window < begin_at + 2) return then({ActionKind::done}, AggregatorStage::await_free);
        return then(go(0, own, own.window - 1), AggregatorStage::await_free);
      case AggregatorStage::await_free:
        return then(own.aggregator.await_free(model, own.window),
                    model.program->writes ? AggregatorStage::await_full : AggregatorStage::move);
      case AggregatorStage::await_full:
        return then(own.aggregator.await_full(model, own.window), AggregatorStage::move);
      case AggregatorStage::move:
        own.stage = AggregatorStage::moved;
        return {ActionKind::transfer, nullptr, 0, own.window};
      default: {
        const auto act = model.program->writes ? own.aggregator.empty(model, own.window)
                                               : own.aggregator.offer(model, own.window);
        if (act.what != ActionKind::done) return act;
        own.stage = AggregatorStage::own;
        ++own.window;
        return {};
      }
    }
  }

  std::string text() const {
    std::string out = "; words";
    for (const Word* word = model.states.data(); word != model.tokens_.data() + model.tokens_.size(); ++word)
      out += " " + std::to_string(word->value);
    for (const WindowTask& one : task)
      out +=
          "; " +
          (one.left ? "left"
                    : "at " + std::to_string(model.program->writes ? one.puts.number() : one.takes.number()) +
                          ", sleeps on word " + std::to_string(one.sleeps_on));
    return out;
  }

  std::string at_end() const {
    for (int w = 0; w < model.program->windows; ++w)
      if (model.transferred[static_cast<size_t>(w)] != 1) return "a window was left";
    for (const Word& word : model.arrivals)
      if (word.value != 0) return "a count was left";
    for (uint64_t number = model.end(); number < model.end() + static_cast<uint64_t>(model.program->slots);
         ++number)
      if (model.states[model.slot(number)].value != model.free_for(number))
        return "a slot is not free for the next call";
    return "";
  }
};

WindowModelState begin_of(const WindowProgram& program) {
  WindowModelState first;
  std::memset(static_cast<void*>(&first), 0, sizeof first);
  first.model.program = &program;
  for (uint64_t number = begin_at; number < begin_at + static_cast<uint64_t>(program.slots); ++number)
    first.model.states[first.model.slot(number)].value = first.model.free_for(number);
  for (int t = 0; t < tasks; ++t) {
    WindowTask& task = first.task[static_cast<size_t>(t)];
    const uint64_t own = first.model.next_own(t, begin_at);
    task.puts = PackProtocol<Word>(own);
    task.takes = UnpackProtocol<Word>(own);
    task.window = begin_at;
    task.sleeps_on = -1;
  }
  return first;
}

size_t explore(const WindowProgram& program) { return test::explore(begin_of(program), tasks); }

constexpr std::array<uint8_t, max_windows> all_have_all{7, 7, 7, 7, 7, 7};
constexpr std::array<uint8_t, max_windows> mixed{3, 7, 4, 5, 6, 1};
constexpr std::array<uint8_t, max_windows> last_alone{7, 4, 3, 4, 7, 4};

TEST(WindowSteps, WritingGoesThroughInEveryOrder) {
  for (const WindowProgram& program :
       {WindowProgram{.windows = 3, .slots = 2, .tokens = 1, .parts = all_have_all},
        {.windows = 4, .slots = 2, .tokens = 1, .parts = mixed},
        {.windows = 3, .slots = 2, .tokens = 2, .parts = last_alone}})
    EXPECT_GT(explore(program), 1000U);
}

TEST(WindowSteps, ReadingGoesThroughInEveryOrder) {
  for (const auto& parts : {all_have_all, mixed, last_alone})
    for (const int tokens : {1, 2})
      EXPECT_GT(explore({.windows = 4, .slots = 2, .tokens = tokens, .writes = false, .parts = parts}),
                1000U);
}

// All tasks have parts of all windows, so they all arrive at the first window. While the first task reads it,
// the second task must read the second window. The third task must find no free I/O token and sleep.
TEST(WindowSteps, WhoWaitsForAWindowReadsTheNext) {
  const WindowProgram program{.windows = 4, .slots = 4, .tokens = 2, .writes = false, .parts = all_have_all};
  WindowModelState state = begin_of(program);
  std::array<uint64_t, tasks> reads{};
  for (int task = 0; task < tasks; ++task)
    while (state.can_go(task) && state.task[static_cast<size_t>(task)].uses.what == 0) {
      ASSERT_EQ(state.step(task), "");
      if (const Using& uses = state.task[static_cast<size_t>(task)].uses; uses.what == 2)
        reads[static_cast<size_t>(task)] = uses.number;
    }
  EXPECT_EQ(reads, (std::array<uint64_t, tasks>{begin_at, begin_at + 1, 0}));
  EXPECT_GE(state.task[2].sleeps_on, 0);
}

// Explores an aggregator and slots for three rounds, the minimum, with one window in each round. The
// aggregator must also pass windows in which no task of this host has a part.
TEST(WindowSteps, AggregatorsGoThroughInEveryOrder) {
  constexpr std::array<uint8_t, max_windows> some{7, 0, 6, 1, 0, 3};
  for (const bool writes : {true, false})
    for (const auto& parts : {all_have_all, mixed, some}) {
      const size_t states =
          explore({.windows = 5, .slots = 3, .tokens = 0, .writes = writes, .parts = parts});
      EXPECT_GT(states, 500U);
    }
}

}  // namespace
}  // namespace sheaf::exchange::window_protocol_test
