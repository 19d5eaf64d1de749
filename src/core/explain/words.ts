/** What an explanation says in a few words: in the command, in the pages and in the console the same. */
import type { Explanation, NotAnswering, WhyNot } from './explanation.ts'

/** The verdict in a few words. */
export function verdictText({ verdict, answerers, sourceRanges }: Explanation): string {
  switch (verdict.kind) {
    case 'forward': {
      const many =
        answerers.length === 1 ? 'answered by 1 endpoint' : `answered by one of ${answerers.length} endpoints`
      return sourceRanges?.isAllowed === 'depends' ? `${many}, if the client may come` : many
    }
    case 'reject':
      return `refused: ${becauseWords[verdict.because]}`
    case 'drop':
      return `dropped: ${becauseWords[verdict.because]}`
    case 'untouched':
      return `not handled: ${becauseWords[verdict.because]}`
    default:
      return verdict satisfies never
  }
}

type Because = Exclude<Explanation['verdict'], { kind: 'forward' }>['because']

export const becauseWords: Readonly<Record<Because, string>> = {
  'no endpoint': 'no endpoint can serve',
  'no such port': 'the Service has no such port',
  'closed meanwhile': 'only endpoints that are ending are left',
  'no endpoint here': 'endpoints of other nodes could serve, but none of this node',
  'source not allowed': 'the client is not in loadBalancerSourceRanges',
  'no Service in the range': 'no Service has this address',
  'address of nobody': 'no Service has it',
  'address of a pod': 'it is the address of a pod',
  'address of this node': 'it is an address of this node, without such a node port',
  'not open here': 'node ports are not open there',
  'not served': 'it is not served',
  'not for this source': 'not for what this node sends',
  'protocol not supported': 'the mode does not support the protocol',
}

const whyNotWords: Readonly<Record<WhyNot, string>> = {
  'not ready': 'not ready',
  terminating: 'terminating, and others are there',
  'no longer serving': 'terminating, and no longer serving',
  'on another node': 'on another node, and the policy is Local',
  'for another zone': 'meant for another zone',
  'for another node': 'meant for another node',
  'weight 0': 'its weight is 0, and others are there',
  unreachable: 'this node cannot reach it, and others are there',
  'no such port': 'it has no such port',
  'other family': 'of the other IP family',
  'loopback address': 'a loopback address',
}

export function whyNotText({ why, detail }: Pick<NotAnswering, 'why' | 'detail'>): string {
  return detail === undefined ? whyNotWords[why] : `${whyNotWords[why]}: ${detail}`
}
