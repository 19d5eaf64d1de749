/* SipHash-2-4 (Aumasson and Bernstein): whoever does not know the key cannot tell which bytes have the same hash. */
#include "relay.h"

#include <string.h>

static uint64_t turned_left(uint64_t value, unsigned bits) { return value << bits | value >> (64 - bits); }

static void mix(uint64_t v[4], unsigned rounds) {
  while (rounds-- > 0) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = turned_left(v[1], 13) ^ v[0];
    v[3] = turned_left(v[3], 16) ^ v[2];
    v[0] = turned_left(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = turned_left(v[1], 17) ^ v[2];
    v[3] = turned_left(v[3], 21) ^ v[0];
    v[2] = turned_left(v[2], 32);
  }
}

static uint64_t little_endian(const unsigned char *bytes, size_t size) {
  uint64_t value = 0;
  for (size_t index = 0; index < size; index++) value |= (uint64_t)bytes[index] << (8 * index);
  return value;
}

static void absorb(uint64_t v[4], uint64_t word) {
  v[3] ^= word;
  mix(v, 2);
  v[0] ^= word;
}

uint64_t siphash(const uint64_t key[2], const unsigned char *bytes, size_t size) {
  uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
                   key[1] ^ 0x7465646279746573};
  size_t done = 0;
  for (; size - done >= 8; done += 8) absorb(v, little_endian(bytes + done, 8));
  absorb(v, little_endian(bytes + done, size - done) | (uint64_t)size << 56);
  v[2] ^= 0xff;
  mix(v, 4);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}
