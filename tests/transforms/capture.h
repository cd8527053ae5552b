// What a program writes to stdout or stderr.
#pragma once
#include <unistd.h>

#include <cstdio>
#include <string>

namespace weft::test {

template <class F>
std::string written_to(std::FILE* stream, F&& f) {
  std::fflush(stream);
  const int fd = fileno(stream), saved = dup(fd);
  std::FILE* file = std::tmpfile();
  dup2(fileno(file), fd);
  const auto restore = [&] {
    std::fflush(stream);
    dup2(saved, fd);
    close(saved);
  };
  try {
    f();
  } catch (...) {
    restore();
    std::fclose(file);
    throw;
  }
  restore();
  std::string text;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}
template <class F>
std::string printed(F&& f) {
  return written_to(stdout, f);
}

}  // namespace weft::test
