#include "sfio/link.hpp"

#include <optional>

#include "comm/agree.hpp"

namespace sheaf::sfio {

std::optional<Error> error_of(const Link& link, int listener, const Answer& answer) {
  if (answer.code == 0) return std::nullopt;
  const std::string& name = link.listeners()[static_cast<size_t>(listener)].name;
  Error error(static_cast<Code>(answer.code), "I/O listener '" + name + "': " + std::string(answer.words()),
              answer.errno_value);
  if (answer.values[2] == 1) error.set_counted();
  return error;
}

std::vector<Answer> ask(Link& link, std::vector<Question> questions, OnError on_error) {
  std::vector<Answer> answers(questions.size());
  std::vector<std::unique_ptr<ListenerCall>> calls(questions.size());
  std::optional<Error> first;
  const auto note = [&](size_t i, const std::optional<Error>& failed) {
    if (!failed) return;
    if (answers[i].code == 0) answers[i] = answer_of(*failed);
    if (!first) first = failed;
  };
  for (size_t i = 0; i < calls.size(); ++i)
    note(i,
         attempt([&] { calls[i] = link.start(questions[i].listener, std::move(questions[i].request), {}); }));
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!calls[i]) continue;
    const double begin = link.now();
    const auto lost = attempt([&] {
      while (!calls[i]->done()) link.back_off(link.now() - begin);
      answers[i] = calls[i]->answer();
    });
    note(i, lost ? lost : error_of(link, questions[i].listener, answers[i]));
  }
  if (first && on_error == OnError::thrown) throw *first;
  return answers;
}

}  // namespace sheaf::sfio
