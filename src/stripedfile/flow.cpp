#include "stripedfile/flow.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace sheaf::sfio {

namespace {

int64_t lanes(int64_t tasks, int64_t listeners) { return tasks > 0 ? (listeners + tasks - 1) / tasks : 1; }

class Steps {
 public:
  Steps(std::span<const int64_t> loads, int listeners)
      : loads_(loads.begin(), loads.end()),
        listeners_(static_cast<size_t>(listeners)),
        tasks_(listeners_ == 0 ? 0 : loads_.size() / listeners_),
        task_left_(tasks_),
        listener_left_(listeners_),
        taken_(listeners_),
        by_load_(tasks_) {
    for (size_t i = 0; i < loads_.size(); ++i) {
      task_left_[i / listeners_] += loads_[i];
      listener_left_[i % listeners_] += loads_[i];
      largest_ = std::max(largest_, loads_[i]);
    }
    const auto some = [](int64_t left) { return left > 0; };
    width_ = static_cast<size_t>(std::max<int64_t>(
        1, lanes(std::ranges::count_if(task_left_, some), std::ranges::count_if(listener_left_, some))));
    std::iota(by_load_.begin(), by_load_.end(), size_t{0});
  }

  Flow of(size_t task) {
    Flow flow{.width = static_cast<int>(width_)};
    while (task < tasks_ && task_left_[task] > 0) {
      step([&](size_t t, size_t listener) {
        if (t == task) flow.order.push_back(static_cast<int>(listener));
      });
      ++steps_;
    }
    return flow;
  }

 private:
  template <class Note>
  void step(Note&& note) {
    std::ranges::fill(taken_, 0);
    std::ranges::stable_sort(by_load_, std::ranges::greater(), [&](size_t task) { return task_left_[task]; });
    std::vector<int64_t> listener_left =
        listener_left_;  // that of the begin stays in force for the whole step
    for (const size_t task : by_load_)
      for (size_t lane = 0; lane < width_ && task_left_[task] > 0; ++lane) {
        const size_t listener = choice(task);
        int64_t& load = loads_[task * listeners_ + listener];
        ++taken_[listener];
        task_left_[task] -= load;
        listener_left[listener] -= load;
        load = 0;
        note(task, listener);
      }
    listener_left_ = std::move(listener_left);
  }

  // Tasks look round from different places, which move on with the steps. Where loads are about the same
  // nobody leaves the order in which all go round: it is even in every step.
  size_t choice(size_t task) const {
    size_t best = listeners_;
    for (size_t i = 0; i < listeners_; ++i) {
      const size_t listener = ((task + steps_) * width_ + i) % listeners_;
      if (loads_[task * listeners_ + listener] == 0) continue;
      if (best == listeners_ || taken_[listener] < taken_[best] ||
          (taken_[listener] == taken_[best] && listener_left_[listener] - listener_left_[best] > largest_))
        best = listener;
    }
    return best;
  }

  std::vector<int64_t> loads_;  // what is not in a step yet
  size_t listeners_;
  size_t tasks_;
  std::vector<int64_t> task_left_;
  std::vector<int64_t> listener_left_;
  int64_t largest_ = 0;     // of all loads
  std::vector<int> taken_;  // tasks of each listener in this step
  std::vector<size_t> by_load_;
  size_t width_ = 1;
  size_t steps_ = 0;
};

}  // namespace

Flow flow_of(std::span<const int64_t> loads, int listeners, int task) {
  return Steps(loads, listeners).of(static_cast<size_t>(task));
}

Flow turns(int tasks, int listeners, int task) {
  Flow flow{.width = static_cast<int>(std::max<int64_t>(1, lanes(tasks, listeners)))};
  for (int i = 0; i < listeners; ++i)
    flow.order.push_back(static_cast<int>((int64_t{task} * flow.width + i) % listeners));
  return flow;
}

}  // namespace sheaf::sfio
