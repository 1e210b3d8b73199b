// environment: sets an environment variable during the lifetime of an object.
#pragma once

#include <cstdlib>
#include <string>

namespace sheaf::test {

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace sheaf::test
