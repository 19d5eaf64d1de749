/** Limits cost the same however many Services have them, and however many endpoints. */
import { expect, test } from 'vitest'
import { outputOf } from './testing/output-of.ts'

const files = ['buckets.c', 'siphash.c', 'address.c']
const many = 20_000

/** `compare` stands for the function of that name in gate.c, and is counted. */
const counting = (compare: string, parameters: string) => `#define _GNU_SOURCE
  #include "relay.h"
  #include <stdio.h>
  #include <string.h>
  static unsigned long compared;
  static int counted(const ${parameters} *a, const ${parameters} *b) {
    compared++;
    return ${compare}(a, b);
  }
  #define ${compare} counted
  #include "gate.c"
  #undef ${compare}`

test('the limits of a Service port are found without looking at those of others', async () => {
  const output = await outputOf(
    `${counting('strcmp', 'char')}
     int main(void) {
       static struct gate *first[${many}];
       if (!buckets_choose_key()) return 1;
       const struct limits limits = {.connections = 1};
       for (int round = 0; round < 2; round++)
         for (unsigned index = 0; index < ${many}; index++) {
           char name[64];
           sprintf(name, "shop/web-%u:http/TCP", index);
           struct gate *gate = gate_get(name, &limits);
           if (round == 0) first[index] = gate;
           if (first[index] != gate) return 1;
         }
       /* In another order than they came. */
       for (unsigned index = 0; index < 2 * ${many}; index++) gate_release(first[index * 7 % ${many}]);
       struct gate *again = gate_get("shop/web-1:http/TCP", &limits);
       printf("%lu %d", compared, again->references);
       gate_release(again);
     }`,
    files,
  )
  const [compared, references] = output.split(' ').map(Number)
  expect(references).toBe(1) // All were released before.
  expect(compared).toBeLessThan(2 * many)
})

test('and so is the meter of an endpoint', async () => {
  const output = await outputOf(
    `${counting('address_compare', 'union address')}
     static struct endpoint list[2][${many}];
     int main(void) {
       if (!buckets_choose_key()) return 1;
       const struct limits limits = {.endpoint_connections = 1};
       struct gate *gate = gate_get("shop/web", &limits);
       for (int pool = 0; pool < 2; pool++)
         for (unsigned index = 0; index < ${many}; index++) {
           struct endpoint *endpoint = &list[pool][index];
           char ip[32];
           sprintf(ip, index % 2 == 0 ? "10.64.%u.%u" : "fd00::%u:%u", index >> 9, index / 2 % 256);
           /* One IP has several ports. */
           if (!address_parse(&endpoint->address, ip, index % 4 < 2 ? "80" : "443")) return 1;
           endpoint->open = 1;
           gate_add(gate, endpoint);
           if (endpoint->meter->count.open != pool + 1) return 1;
         }
       printf("%lu %d ", compared, gate->count.open);
       for (int pool = 0; pool < 2; pool++)
         for (unsigned index = 0; index < ${many}; index++) gate_remove(&list[pool][index * 7 % ${many}]);
       printf("%d", gate->count.open);
       gate_release(gate);
     }`,
    files,
  )
  const [compared, open, left] = output.split(' ').map(Number)
  expect([open, left]).toEqual([2 * many, 0])
  expect(compared).toBeLessThan(2 * many)
})
