/**
 * Served is who is sent to an endpoint, and let through, when the packet is walked through the tables rule by rule. A
 * restart writes all rules once more, as kube-proxy does; the text is the same, and so are the tables.
 */
import fc from 'fast-check'
import { silentLogger } from '../../../core/logger.ts'
import { addressPlans } from '../../../core/testing/random-cluster.ts'
import { savedRulesHash } from '../../../dataplane/iptables/change-detector.ts'
import { chainChangesFromTokens } from '../../../dataplane/iptables/chain-changes.ts'
import type { Iptables } from '../../../dataplane/iptables/iptables.ts'
import { spoilRule, unexplainedRules } from '../../../dataplane/iptables/testing/explained-rules.ts'
import { RefusingIptables } from '../../../dataplane/iptables/testing/refusing-iptables.ts'
import { anyRuleDamage, doRuleDamage } from '../../../dataplane/iptables/testing/rule-damage.ts'
import type { RuleDamage } from '../../../dataplane/iptables/testing/rule-damage.ts'
import { endingsOf, newDestinations, ParsedRules } from '../../../dataplane/iptables/testing/walk-packet.ts'
import type { Family } from '../../../net/ip.ts'
import { comparableLines, sharedChains } from '../../../../tests/testing/compare-rulesets.ts'
import type { BackendSite, World } from '../../testing/backend-site.ts'
import { DoorCalls } from '../../testing/door-calls.ts'
import { ChainWatch } from '../chain-watch.ts'
import { IptablesBackend } from '../iptables-backend.ts'
import { isServiceChain } from '../chain-names.ts'
import { SettingsSource } from '../settings-source.ts'
import { sharedChains as topSharedChains } from '../top-chains.ts'

const never = new AbortController().signal
/** Jumps that others deleted are put on top again, whatever order they had. */
const unorderedChains = new Set([...sharedChains, 'PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'])

export function iptablesSite(family: Family): BackendSite<RuleDamage, readonly string[]> {
  const plan = addressPlans[family]
  return {
    name: 'iptables',
    plan,
    // The addresses of the node.
    settings: plan.node,
    otherSettings: fc.subarray([...plan.node]),
    damage: anyRuleDamage({ leftovers: true }),
    writes: new Set(['restore', 'ensureChain', 'ensureRule', 'deleteRule', 'deleteChain']),
    restart: { writes: ({ method }) => (/^(ensure|delete)/.test(method) ? [method] : []) },
    newWorld() {
      const kernel = new RefusingIptables({ family })
      return {
        ...iptablesWorld(family, kernel, { hasCounters: true }),
        refuse(ip) {
          kernel.refusedIp = ip
        },
      }
    },
  }
}

/** Over any tables, also those of the real kernel, where counters may be missing. */
export function iptablesWorld(
  family: Family,
  kernel: Iptables,
  { hasCounters }: { readonly hasCounters: boolean },
): World<RuleDamage, readonly string[]> {
  const plan = addressPlans[family]
  const calls = new DoorCalls()
  const rules = new ParsedRules()
  return {
    calls,
    open: ({ settings, clock }) => {
      const iptables = calls.through('iptables', kernel)
      return new IptablesBackend({
        iptables,
        log: silentLogger,
        drift: new ChainWatch({
          iptables: kernel,
          openChanges: () => Promise.resolve(chainChangesFromTokens(savedRulesHash(kernel, ['filter', 'nat']))),
          clock,
          log: silentLogger,
        }),
        metrics: { rules() {}, restoreFailed() {} },
        settings: new SettingsSource({
          iptables,
          log: silentLogger,
          ensureCounter: () => Promise.resolve(hasCounters),
          fixed: () => ({
            family,
            localTraffic: { kind: 'cidr', cidr: plan.podCidr },
            masqueradeAll: false,
            masqueradeMark: '0x00004000',
            localhostNodePorts: true,
            nodePortAddresses: plan.node.map((ip) => `${ip}/${family === 'ipv4' ? 32 : 128}`),
            dropsInvalid: true,
            localIps: settings,
          }),
        }),
      })
    },
    snapshot: async ({ wasDamaged }) =>
      [...comparableLines(await kernel.saveAll(never), wasDamaged ? unorderedChains : sharedChains)].sort(),
    async look() {
      const tables = rules.of(await kernel.saveAll(never))
      const isLocal = (ip: string) => plan.node.includes(ip)
      return ({ source, ip, port, protocol }) =>
        newDestinations(endingsOf(tables, { isLocal }, { source, destination: ip, port, protocol }))
    },
    damage: (damage) => doRuleDamage(kernel, damage),
    unexplained: (pieces) => unexplainedRules(kernel, pieces, isFixed),
    spoil: (piece) => spoilRule(kernel, piece),
    refuse() {},
  }
}

/** The kernel's own chains, and those whose rules no Service changes. In shared chains only the end is nobody's. */
function isFixed(chain: string, rule: string): boolean {
  if (isServiceChain(chain)) return false
  const isShared = topSharedChains.some((shared) => shared.chain === chain)
  return !isShared || rule === '' || rule.includes('this must be the last rule')
}
