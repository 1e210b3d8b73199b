#include "stripedfile/direct_link.hpp"

#include <chrono>
#include <thread>

#include "stripedfile/listener_names.hpp"
#include "stripedfile/service/constants.hpp"
#include "stripedfile/service/service.hpp"

namespace sheaf::sfio {
namespace {

class DirectCall final : public Call {
 public:
  bool done() override { return true; }
  const Answer& answer() const override { return answer_; }
  Answer answer_;
};

class DirectLink final : public Link {
 public:
  DirectLink(Store& store, HostRoots roots) : store_(store), roots_(std::move(roots)) {}

  const std::vector<ListenerFacts>& listeners() const override { return facts_; }

  int find(const std::string& host, int) override {
    for (size_t i = 0; i < facts_.size(); ++i)
      if (facts_[i].name == host) return static_cast<int>(i);
    const bool here =
        host == "localhost" || host == roots_.name || host == roots_.name.substr(0, roots_.name.find('.'));
    if (roots_.root.empty() && !here)
      throw Error(Code::not_found,
                  "host '" + host + "' is not this machine ('" + roots_.name +
                      "'); start I/O listeners, or name with SHEAF_SFIO_ROOT a directory that has one "
                      "directory for every host");
    auto service = std::make_unique<Service>(store_, root_of_host(roots_.root, host), direct_room);
    facts_.push_back({host, static_cast<int>(facts_.size()), direct_room});
    services_.push_back(std::move(service));
    return static_cast<int>(facts_.size()) - 1;
  }

  std::unique_ptr<Call> start(int listener, Request request, std::vector<MemoryRun> out,
                              std::vector<MemoryRun> in) override {
    auto call = std::make_unique<DirectCall>();
    call->answer_ = services_[static_cast<size_t>(listener)]->carry_out(request, out.empty() ? in : out);
    counts_.messages += 1;
    counts_.bytes += bytes_of(out) + bytes_of(in);
    return call;
  }

  std::shared_ptr<File> local_file(int listener, int64_t handle) override {
    const std::lock_guard hold(lock());
    return services_[static_cast<size_t>(listener)]->file_of(handle);
  }

  void rest(double) override { std::this_thread::yield(); }
  double now() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  LinkCounts counts() const override { return counts_; }

 private:
  Store& store_;
  HostRoots roots_;
  std::vector<ListenerFacts> facts_;
  std::vector<std::unique_ptr<Service>> services_;
  LinkCounts counts_;
};

}  // namespace

std::unique_ptr<Link> direct_link(Store& store, HostRoots roots) {
  return std::make_unique<DirectLink>(store, std::move(roots));
}

}  // namespace sheaf::sfio
