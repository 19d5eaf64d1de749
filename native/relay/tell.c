/* Lines to the TypeScript side. A thread of its own writes them, so nobody else waits for the reader. */
#include "relay.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE 2048
#define MOST_WAITING 4096
#define QUIET_NS 1000000000

struct line {
  struct line *next;
  size_t size;
  char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_line = PTHREAD_COND_INITIALIZER;
static struct line *first, *last;
static unsigned waiting, dropped;

static void append(const char *text, size_t size) {
  struct line *line = must_have(malloc(sizeof *line + size));
  line->next = NULL;
  line->size = size;
  memcpy(line->text, text, size);
  if (first == NULL)
    first = line;
  else
    last->next = line;
  last = line;
  waiting++;
  pthread_cond_signal(&has_line);
}

static void tell(bool may_be_dropped, const char *format, va_list arguments) {
  char text[LINE];
  int length = vsnprintf(text, sizeof text - 1, format, arguments);
  size_t size = length < (int)sizeof text - 1 ? (size_t)length : sizeof text - 2;
  text[size++] = '\n';
  pthread_mutex_lock(&lock);
  if (may_be_dropped && waiting >= MOST_WAITING)
    dropped++;
  else
    append(text, size);
  pthread_mutex_unlock(&lock);
}

void tell_answer(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  tell(false, format, arguments);
  va_end(arguments);
}

void tell_report(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  tell(true, format, arguments);
  va_end(arguments);
}

void tell_trouble(struct listener *listener, int64_t now_ns, const char *what, int error) {
  long long quiet_until = atomic_load(&listener->quiet_until_ns);
  if (now_ns < quiet_until) return;
  if (!atomic_compare_exchange_strong(&listener->quiet_until_ns, &quiet_until, now_ns + QUIET_NS)) return;
  tell_report("%s %u %d", what, listener->slot, error);
}

static void write_all(const char *text, size_t size) {
  while (size > 0) {
    ssize_t written = write(STDOUT_FILENO, text, size);
    if (written <= 0) _exit(0); /* Nobody is there any more who could tell us what to do. */
    text += written;
    size -= (size_t)written;
  }
}

void *tell_run(void *unused) {
  (void)unused;
  thread_runs();
  for (;;) {
    pthread_mutex_lock(&lock);
    while (first == NULL) pthread_cond_wait(&has_line, &lock);
    struct line *line = first;
    unsigned lost = dropped;
    first = last = NULL;
    waiting = dropped = 0;
    pthread_mutex_unlock(&lock);
    for (struct line *next; line != NULL; line = next) {
      next = line->next;
      write_all(line->text, line->size);
      free(line);
    }
    if (lost > 0) tell_answer("lost %u", lost);
  }
  return NULL;
}
