/** Clients choose their addresses: they must not be able to choose in which bucket of the affinity table they end. */
import { expect, test } from 'vitest'
import { outputOf } from './testing/output-of.ts'

test('the hash is SipHash-2-4: it has the values that its authors give', async () => {
  const values = await outputOf(
    `#include "relay.h"
     #include <stdio.h>
     int main(void) {
       const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
       unsigned char bytes[16];
       for (int index = 0; index < 16; index++) bytes[index] = (unsigned char)index;
       const size_t sizes[] = {0, 4, 8, 15};
       for (int index = 0; index < 4; index++) printf("%016llx\\n", (unsigned long long)siphash(key, bytes, sizes[index]));
     }`,
    ['siphash.c'],
  )
  expect(values.trim().split('\n')).toEqual([
    '726fdb47dd0e0e31',
    'cf2794e0277187b7',
    '93f5f5799a932462',
    'a129ca6149be45e5',
  ])
})

test('addresses that are chosen to end in one bucket of a hash that everybody can compute do not', async () => {
  // FNV-1a stands for such a hash. Of 1,000 addresses in 1,024 buckets that fall at random, few share one.
  const longest = await outputOf(
    `#include "affinity.c"
     #include <stdio.h>
     void endpoint_release(struct endpoint *endpoint) { (void)endpoint; }
     static unsigned fnv(const unsigned char *bytes) {
       uint64_t hash = 14695981039346656037u;
       for (int index = 0; index < 16; index++) hash = (hash ^ bytes[index]) * 1099511628211u;
       return (hash ^ (hash >> 32)) & 1023;
     }
     int main(void) {
       if (!buckets_choose_key()) return 1;
       struct affinity *affinity = affinity_create(1000);
       struct endpoint endpoint = {0};
       union address client = {0};
       client.v6.sin6_family = AF_INET6;
       unsigned char *bytes = client.v6.sin6_addr.s6_addr;
       bytes[0] = 0x20;
       for (uint32_t number = 0; affinity->by_client.count < 1000; number++) {
         for (int index = 0; index < 4; index++) bytes[12 + index] = (unsigned char)(number >> (8 * index));
         if (fnv(bytes) == 0) affinity_remember(affinity, &client, &endpoint, 1);
       }
       size_t longest = 0;
       for (size_t bucket = 0; bucket < affinity->by_client.size; bucket++) {
         size_t length = 0;
         for (struct bucketed *one = affinity->by_client.first[bucket]; one != NULL; one = one->next) length++;
         if (length > longest) longest = length;
       }
       printf("%zu\\n", longest);
     }`,
    ['buckets.c', 'siphash.c', 'address.c'],
  )
  expect(Number(longest)).toBeLessThan(20)
})
