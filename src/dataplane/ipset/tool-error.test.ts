import { expect, test } from 'vitest'
import { failedLine, toolError } from './tool-error.ts'

// Texts of ipset 7.17.
test('what the tool says becomes a reason and a way out', () => {
  for (const [said, reason, wayOut] of [
    ['Kernel error received: Operation not permitted', 'not-permitted', 'CAP_NET_ADMIN'],
    ['The set with the given name does not exist', 'not-found', 'no such set'],
    ['Sets cannot be swapped: the second set does not exist', 'not-found', 'no such set'],
    ['Set cannot be created: set with the same name already exists', 'exists', '"ipset destroy" it'],
    ['Set cannot be destroyed: it is in use by a kernel component', 'in-use', 'a rule still uses it'],
    ['Error in line 3: Hash is full, cannot add more elements', 'full', 'it is full'],
    ['Null-valued element, cannot be stored in a hash type of set', 'refused', 'Null-valued'],
  ] as const) {
    const error = toolError('do something', `ipset v7.17: ${said}\n`)
    expect(error.reason).toBe(reason)
    expect(error.message).toContain('cannot do something: ')
    expect(error.message).toContain(wayOut)
    expect(error.message).not.toContain('in line')
  }
})

test('a type of set that the kernel lacks is named with its module', () => {
  for (const [type, module] of [
    ['hash:ip', 'ip_set_hash_ip'],
    ['hash:ip,port', 'ip_set_hash_ipport'],
    ['hash:ip,port,ip', 'ip_set_hash_ipportip'],
    ['hash:ip,port,net', 'ip_set_hash_ipportnet'],
    ['bitmap:port', 'ip_set_bitmap_port'],
  ] as const) {
    const error = toolError(
      'make it',
      'ipset v7.17: Error in line 1: Kernel error received: set type not supported',
      type,
    )
    expect(error.reason).toBe('module-missing')
    expect(error.message).toContain(`"modprobe ${module}"`)
  }
  expect(toolError('list', 'ipset v7.17: Cannot open session to kernel.').message).toContain('"modprobe ip_set"')
})

test('the line that failed is found', () => {
  expect(failedLine('ipset v7.17: Error in line 12: Hash is full')).toBe(12)
  expect(failedLine('ipset v7.17: something else')).toBeUndefined()
})
