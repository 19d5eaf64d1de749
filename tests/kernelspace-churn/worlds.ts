import type { ChurnOptions } from './churn.ts'

export type World = Pick<ChurnOptions, 'profile' | 'type'>

export const worlds: readonly World[] = [
  { profile: '2019', type: 'L2Bridge' },
  { profile: '2022', type: 'L2Bridge' },
  { profile: '2022', type: 'Overlay' },
  { profile: '2025', type: 'L2Bridge' },
]

/** What is remembered even without any Service: the source VIP stays as long as the proxy may need it. */
export function keptByNode({ type }: World): readonly string[] {
  return type === 'Overlay' ? ['network pod-net', 'source-vip 10.61.1.2'] : ['network pod-net']
}
