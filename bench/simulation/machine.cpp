#include "simulation/machine.hpp"

#include <cstdlib>
#include <string>
#include <type_traits>
#include <variant>

namespace sheaf::simulation {

namespace {

using Member = std::variant<int Machine::*, int64_t Machine::*, double Machine::*, bool Machine::*>;

struct NamedMember {
  std::string_view name;
  Member member;
};

constexpr NamedMember members[] = {
    {"tasks_per_node", &Machine::tasks_per_node},
    {"tasks_per_client", &Machine::tasks_per_client},
    {"in_turn", &Machine::in_turn},
    {"latency", &Machine::latency},
    {"port", &Machine::port},
    {"message", &Machine::message},
    {"broadcast", &Machine::broadcast},
    {"task", &Machine::task},
    {"client_write", &Machine::client_write},
    {"client_read", &Machine::client_read},
    {"client_loss", &Machine::client_loss},
    {"request", &Machine::request},
    {"fragment", &Machine::fragment},
    {"buffers", &Machine::buffers},
    {"ahead", &Machine::ahead},
    {"block", &Machine::block},
    {"servers", &Machine::servers},
    {"stripes", &Machine::stripes},
    {"scattered", &Machine::scattered},
    {"server_write", &Machine::server_write},
    {"server_read", &Machine::server_read},
    {"server_request", &Machine::server_request},
    {"raid", &Machine::raid},
    {"write_through", &Machine::write_through},
    {"partial", &Machine::partial},
    {"sector", &Machine::sector},
    {"token", &Machine::token},
    {"one_server", &Machine::one_server},
    {"create", &Machine::create},
    {"create_more", &Machine::create_more},
    {"create_alone", &Machine::create_alone},
    {"open", &Machine::open},
    {"open_again", &Machine::open_again},
    {"allocate", &Machine::allocate},
    {"look_up", &Machine::look_up},
};

}  // namespace

bool Machine::set(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string text(word.substr(equals + 1));
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0)) return false;
  for (const NamedMember& one : members) {
    if (one.name != word.substr(0, equals)) continue;
    std::visit(
        [&](auto member) {
          this->*member = static_cast<std::remove_reference_t<decltype(this->*member)>>(value);
        },
        one.member);
    return block > 0 && servers > 0 && tasks_per_client > 0 && tasks_per_node > 0;
  }
  return false;
}

}  // namespace sheaf::simulation
