import { expect, test } from 'vitest'
import { chooseGuest } from './choose-guest.ts'
import type { Candidate } from './choose-guest.ts'
import type { GuestKernelName } from './guest-kernel.ts'

function machine(problemsByName: Partial<Record<GuestKernelName, string>>): {
  readonly candidates: readonly Candidate[]
  readonly tried: readonly string[]
} {
  const tried: string[] = []
  const candidates = (['user-mode-linux', 'qemu-kvm', 'qemu-tcg'] as const).map((name) => ({
    name,
    problem: async () => {
      tried.push(name)
      return problemsByName[name]
    },
  }))
  return { candidates, tried }
}

test('user-mode-linux is taken where it boots, and nothing else is tried', async () => {
  const { candidates, tried } = machine({})
  expect(await chooseGuest(candidates)).toEqual({ name: 'user-mode-linux', passedOver: '' })
  expect(tried).toEqual(['user-mode-linux'])
})

test('QEMU is taken where user-mode-linux dies', async () => {
  const { candidates } = machine({ 'user-mode-linux': 'Kernel panic' })
  expect(await chooseGuest(candidates)).toEqual({ name: 'qemu-kvm', passedOver: 'user-mode-linux: Kernel panic' })
})

test('the processor helps QEMU only where it can', async () => {
  const { candidates } = machine({ 'user-mode-linux': 'Kernel panic', 'qemu-kvm': '/dev/kvm cannot be used' })
  expect(await chooseGuest(candidates, '')).toEqual({
    name: 'qemu-tcg',
    passedOver: 'user-mode-linux: Kernel panic; qemu-kvm: /dev/kvm cannot be used',
  })
})

test('where none boots, each says why', async () => {
  const { candidates } = machine({ 'user-mode-linux': 'a', 'qemu-kvm': 'b', 'qemu-tcg': 'c' })
  expect(await chooseGuest(candidates)).toEqual({
    name: undefined,
    passedOver: 'user-mode-linux: a; qemu-kvm: b; qemu-tcg: c',
  })
})

test('a wanted kernel is the only one that is tried', async () => {
  const { candidates, tried } = machine({ 'qemu-tcg': 'no kernel' })
  expect(await chooseGuest(candidates, 'qemu-tcg')).toEqual({ name: undefined, passedOver: 'qemu-tcg: no kernel' })
  expect(tried).toEqual(['qemu-tcg'])
})

test('a wanted kernel that nobody knows is an error', async () => {
  await expect(chooseGuest(machine({}).candidates, 'vmware')).rejects.toThrow(
    'GUEST_KERNEL is "vmware"; it can be user-mode-linux, qemu-kvm, qemu-tcg',
  )
})
