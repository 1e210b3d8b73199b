#include "sfio/direct_link.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "sfio/listener_names.hpp"
#include "sfio/service/constants.hpp"
#include "sfio/service/service.hpp"

namespace sheaf::sfio {
namespace {

class DirectCall final : public ListenerCall {
 public:
  bool done() override { return true; }
  const Answer& answer() const override { return answer_; }
  Answer answer_;
};

class DirectLink final : public Link {
 public:
  DirectLink(Store& store, std::string root, std::string name)
      : store_(store), root_(std::move(root)), name_(std::move(name)) {}

  const std::vector<ListenerFacts>& listeners() const override { return facts_; }

  int find(const std::string& host, int) override {
    const auto known = std::ranges::find(facts_, host, &ListenerFacts::name);
    if (known != facts_.end()) return known->task;
    const bool here = host == "localhost" || host == name_ || host == name_.substr(0, name_.find('.'));
    if (root_.empty() && !here)
      throw Error(Code::not_found,
                  "host '" + host + "' is not this machine ('" + name_ +
                      "'); start I/O listeners, or name with SHEAF_SFIO_ROOT a directory that has one "
                      "directory for every host");
    services_.push_back(std::make_unique<Service>(store_, root_of_host(root_, host), direct_room));
    facts_.push_back({host, static_cast<int>(facts_.size()), direct_room});
    return facts_.back().task;
  }

  std::unique_ptr<ListenerCall> start(int listener, Request request, std::vector<MemoryRun> memory) override {
    auto call = std::make_unique<DirectCall>();
    call->answer_ = services_[static_cast<size_t>(listener)]->carry_out(request, memory);
    counts_.messages += 1;
    counts_.bytes += bytes_of(memory);
    return call;
  }

  std::shared_ptr<File> local_file(int listener, int64_t handle) override {
    const std::lock_guard hold(lock());
    return services_[static_cast<size_t>(listener)]->file_of(handle);
  }

  void back_off(double) override { std::this_thread::yield(); }
  double now() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  LinkCounts counts() const override { return counts_; }

 private:
  Store& store_;
  const std::string root_;
  const std::string name_;
  std::vector<ListenerFacts> facts_;
  std::vector<std::unique_ptr<Service>> services_;
  LinkCounts counts_;
};

}  // namespace

std::unique_ptr<Link> direct_link(Store& store, std::string root, std::string name) {
  return std::make_unique<DirectLink>(store, std::move(root), std::move(name));
}

}  // namespace sheaf::sfio
