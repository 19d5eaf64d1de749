/** The tests that every record of what is ours passes. */
import { expect, test } from 'vitest'
import type { OwnedObjects } from './owned-objects.ts'

const [dns, web, pod] = ['balancer ipv4 17 10.96.0.10 53', 'balancer ipv6 6 any 31080', 'endpoint 10.64.2.7']

/** `make` returns an empty record. */
export function ownedObjectsContract(name: string, make: () => Promise<OwnedObjects>): void {
  test(`${name} knows what was added, until it is removed`, async () => {
    const owned = await make()
    expect(owned.list()).toEqual([])
    await owned.add([dns, pod])
    await owned.add([web])
    expect([dns, web, pod, 'endpoint 10.64.2.8'].map((object) => owned.has(object))).toEqual([true, true, true, false])
    await owned.remove([dns, 'endpoint 10.64.2.8'])
    expect(owned.list().toSorted()).toEqual([web, pod])
    await owned.add([dns])
    expect(owned.has(dns)).toBe(true)
  })

  test(`${name} has a thing once, however often it is added`, async () => {
    const owned = await make()
    await owned.add([dns, dns])
    await owned.add([dns])
    expect(owned.list()).toEqual([dns])
    await owned.remove([dns])
    expect(owned.list()).toEqual([])
    await owned.remove([dns])
    await owned.add([])
    expect(owned.list()).toEqual([])
  })

  test(`${name} does things in the order in which they are asked for`, async () => {
    const owned = await make()
    await Promise.all([owned.add([dns]), owned.remove([dns]), owned.add([web]), owned.add([dns]), owned.remove([web])])
    expect(owned.list()).toEqual([dns])
  })
}
