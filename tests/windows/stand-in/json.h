/* As little JSON as the stand-in needs: finding members of an object, and taking texts apart. All texts are UTF-8. */
#ifndef STAND_IN_JSON_H
#define STAND_IN_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A part of a text. Nothing was found if `at` is NULL. */
typedef struct {
  const char *at;
  size_t length;
} part;

static const part no_part = {NULL, 0};

static const char *skip_space(const char *p) {
  while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n') p++;
  return p;
}

/* Returns what follows a value, or NULL if there is none. It does not look closely at what is between brackets. */
static const char *skip_value(const char *p) {
  int depth = 0;
  p = skip_space(p);
  if (*p == '\0' || strchr("{[\"-0123456789tfn", *p) == NULL) return NULL;
  do {
    if (*p == '"') {
      for (p++; *p != '"'; p++) {
        if (*p == '\\') p++;
        if (*p == '\0') return NULL;
      }
      p++;
    } else if (*p == '{' || *p == '[') {
      depth++;
      p++;
    } else if (*p == '}' || *p == ']') {
      depth--;
      p++;
    } else if (*p == '\0') {
      return NULL;
    } else if (depth > 0) {
      p++;
    } else {
      size_t length = strcspn(p, ",]} \t\r\n");
      if (*p >= 'a' && strncmp(p, "true", length) && strncmp(p, "false", length) && strncmp(p, "null", length)) return NULL;
      return p + length;
    }
  } while (depth > 0);
  return p;
}

static part element(const char *p, const char **next);

/* The value of a member of an object. */
static part member(part object, const char *key) {
  if (object.at == NULL || *object.at != '{') return no_part;
  const char *p = skip_space(object.at + 1);
  while (*p == '"') {
    const char *name = p;
    p = skip_value(p);
    if (p == NULL) return no_part;
    int is_it = (size_t)(p - name) == strlen(key) + 2 && strncmp(name + 1, key, strlen(key)) == 0;
    p = skip_space(p);
    if (*p != ':') return no_part;
    part value = element(p + 1, &p);
    if (value.at == NULL || is_it) return value;
    p = skip_space(p);
    if (*p == ',') p = skip_space(p + 1);
  }
  return no_part;
}

/* A value and what follows it. */
static part element(const char *p, const char **next) {
  p = skip_space(p);
  const char *end = skip_value(p);
  part value = {end == NULL ? NULL : p, end == NULL ? 0 : (size_t)(end - p)};
  *next = end;
  return value;
}

/* Goes through a list: begin with `next` at NULL. */
static part next_item(part list, const char **next) {
  if (list.at == NULL || *list.at != '[') return no_part;
  const char *p = skip_space(*next == NULL ? list.at + 1 : *next);
  if (*p == ',') p++;
  p = skip_space(p);
  return *p == ']' || *p == '\0' ? no_part : element(p, next);
}

static part first_item(part list) {
  const char *next = NULL;
  return next_item(list, &next);
}

static char *copy_part(part value) {
  char *copy = malloc(value.length + 1);
  if (value.length > 0) memcpy(copy, value.at, value.length);
  copy[value.length] = '\0';
  return copy;
}

static long number_in(part value) {
  return value.at == NULL ? 0 : strtol(value.at, NULL, 10);
}

static size_t put_utf8(char *to, uint32_t c) {
  if (c < 0x80) return to[0] = (char)c, 1;
  if (c < 0x800) return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
  if (c < 0x10000)
    return to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 63)), to[2] = (char)(0x80 | (c & 63)), 3;
  to[0] = (char)(0xf0 | c >> 18);
  to[1] = (char)(0x80 | (c >> 12 & 63));
  to[2] = (char)(0x80 | (c >> 6 & 63));
  to[3] = (char)(0x80 | (c & 63));
  return 4;
}

/* A JSON text without its quotes and escapes; empty if it is none. The caller frees it. */
static char *text_in(part value) {
  char *text = calloc(value.length + 4, 1), *to = text;
  if (value.at == NULL || *value.at != '"') return text;
  uint32_t high = 0;
  for (const char *p = value.at + 1; p < value.at + value.length - 1; p++) {
    if (*p != '\\') {
      *to++ = *p;
      continue;
    }
    p++;
    const char *plain = strchr("n\nt\tr\rb\bf\f", *p);
    if (*p != 'u') {
      *to++ = plain == NULL ? *p : plain[1];
      continue;
    }
    char digits[5] = {p[1], p[2], p[3], p[4], 0};
    uint32_t unit = (uint32_t)strtoul(digits, NULL, 16);
    p += 4;
    if ((unit & 0xfc00) == 0xd800) {
      high = unit;
    } else {
      if ((unit & 0xfc00) == 0xdc00) unit = 0x10000 + ((high & 0x3ff) << 10) + (unit & 0x3ff);
      to += put_utf8(to, unit);
    }
  }
  *to = '\0';
  return text;
}

#endif
