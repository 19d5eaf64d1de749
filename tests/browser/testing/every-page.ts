/** All pages that a console has: those of its menu, and some that are reached from them. */
import type { Page } from 'playwright-core'

/** Paths and queries, from the menu of a page that is live. */
export async function everyPath(page: Page, details: readonly string[]): Promise<readonly string[]> {
  const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { includeHidden: true })
  const ofMenu = await links.evaluateAll((all) => all.map((link) => new URL((link as HTMLAnchorElement).href).pathname))
  return [...ofMenu, ...details, '/nothing/here']
}

/** Resolves when what the page asked for once has come. Its stream never ends, so the network is never idle. */
export async function isAtRest(page: Page): Promise<void> {
  await page.locator('.connection[data-state="live"]').waitFor({ state: 'attached' })
  await page.waitForFunction(() => {
    const isBusy = document.querySelector('[aria-busy="true"]') !== null
    return !isBusy && !/\b(?:Waiting for|Asking\b|Loading)/.test(document.querySelector('main')?.innerText ?? '')
  })
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
}
