import { expect, test } from 'vitest'
import { parseTableNames, parseTableShape } from './ruleset-text.ts'

test('a listed table tells its chains, where the kernel calls them, and how many rules they have', () => {
  const printed = `table ip nat {
	chain PREROUTING {
		type nat hook prerouting priority dstnat; policy accept;
		 counter packets 0 bytes 0 jump KUBE-SERVICES
		ip daddr { 192.0.2.1, 192.0.2.2 } counter packets 3 bytes 180 accept comment "a { in a comment"
	}

	chain KUBE-SERVICES {
	}
}
`
  expect(parseTableShape(printed)).toEqual({
    hasOtherObjects: false,
    chainsByName: new Map([
      ['PREROUTING', { hook: { name: 'prerouting', policy: 'accept' }, ruleCount: 2 }],
      ['KUBE-SERVICES', { hook: undefined, ruleCount: 0 }],
    ]),
  })
})

test('anything but chains is noticed, and its lines are not taken for rules', () => {
  const printed = `table ip nat {
	set mine {
		type ipv4_addr
		elements = { 192.0.2.1 }
	}

	chain OUTPUT {
		type nat hook output priority -100; policy accept;
	}
}
`
  const { hasOtherObjects, chainsByName } = parseTableShape(printed)
  expect(hasOtherObjects).toBe(true)
  expect([...chainsByName.keys()]).toEqual(['OUTPUT'])
})

test('tables of other families than those of iptables are left out', () => {
  expect(parseTableNames('table inet firewalld\ntable ip nat\ntable ip6 kube-proxy\n')).toEqual([
    { family: 'ipv4', name: 'nat' },
    { family: 'ipv6', name: 'kube-proxy' },
  ])
})
