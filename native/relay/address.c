#include "relay.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool address_parse(union address *out, const char *ip, const char *port) {
  memset(out, 0, sizeof *out);
  in_port_t network_port = htons((uint16_t)atoi(port));
  if (inet_pton(AF_INET, ip, &out->v4.sin_addr) == 1) {
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = network_port;
    return true;
  }
  if (inet_pton(AF_INET6, ip, &out->v6.sin6_addr) == 1) {
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = network_port;
    return true;
  }
  return false;
}

socklen_t address_size(const union address *address) {
  return address->any.sa_family == AF_INET ? sizeof address->v4 : sizeof address->v6;
}

const unsigned char *address_bytes(const union address *address, size_t *size) {
  bool is_v4 = address->any.sa_family == AF_INET;
  *size = is_v4 ? 4 : 16;
  return is_v4 ? (const unsigned char *)&address->v4.sin_addr : address->v6.sin6_addr.s6_addr;
}

unsigned address_port(const union address *address) {
  return ntohs(address->any.sa_family == AF_INET ? address->v4.sin_port : address->v6.sin6_port);
}

int address_compare(const union address *a, const union address *b) {
  if (a->any.sa_family != b->any.sa_family) return a->any.sa_family < b->any.sa_family ? -1 : 1;
  size_t size;
  const unsigned char *bytes = address_bytes(a, &size);
  int order = memcmp(bytes, address_bytes(b, &size), size);
  return order != 0 ? order : (int)address_port(a) - (int)address_port(b);
}

const char *address_ip_text(const union address *address, char text[ADDRESS_TEXT]) {
  size_t size;
  const unsigned char *bytes = address_bytes(address, &size);
  return inet_ntop(address->any.sa_family, bytes, text, ADDRESS_TEXT);
}

const char *address_text(const union address *address, char text[ADDRESS_TEXT]) {
  char ip[ADDRESS_TEXT];
  const char *format = address->any.sa_family == AF_INET ? "%.46s:%u" : "[%.46s]:%u";
  snprintf(text, ADDRESS_TEXT, format, address_ip_text(address, ip), address_port(address));
  return text;
}

/* "10.0.0.0/8"; the text is taken apart. */
bool range_parse(struct range *out, char *text) {
  char *slash = strchr(text, '/');
  if (slash == NULL) return false;
  *slash = '\0';
  memset(out, 0, sizeof *out);
  out->family = strchr(text, ':') == NULL ? AF_INET : AF_INET6;
  out->bits = (unsigned)atoi(slash + 1);
  unsigned most = out->family == AF_INET ? 32 : 128;
  return out->bits <= most && inet_pton(out->family, text, out->bytes) == 1;
}

bool range_contains(const struct range *range, const union address *address) {
  if (range->family != address->any.sa_family) return false;
  size_t size;
  const unsigned char *bytes = address_bytes(address, &size);
  unsigned whole = range->bits / 8, left = range->bits % 8;
  if (memcmp(bytes, range->bytes, whole) != 0) return false;
  return left == 0 || ((bytes[whole] ^ range->bytes[whole]) >> (8 - left)) == 0;
}
