/** axe-core in a page: what keeps people out who use a keyboard, a screen reader, or need contrast. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'

interface Violation {
  readonly id: string
  readonly impact: string | null
  readonly help: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[]
}

/** Those that are serious or critical, one line for each place. The page must have been opened with `bypassCSP`. */
export async function seriousViolations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const violations = await page.evaluate(async () => {
    const inPage = globalThis as unknown as { axe: { run(): Promise<{ violations: readonly Violation[] }> } }
    return (await inPage.axe.run()).violations
  })
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary = '' }) => `${id} (${help}) at ${target.join(' ')}: ${failureSummary}`),
    )
}
