/** The form and the command say the same. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runFairlead } from '../e2e/testing/fairlead-process.ts'
import { launchChromium, unlessChromium, whyNoChromium } from './testing/chromium.ts'
import { isAtRest } from './testing/every-page.ts'
import { Shop } from './testing/shop.ts'
import { WatchedPage } from './testing/watched-page.ts'

describe.skipIf(whyNoChromium !== undefined)(`explain as a form${unlessChromium}`, () => {
  let browser: Browser
  let shop: Shop

  beforeAll(async () => {
    ;[browser, shop] = await Promise.all([launchChromium(), Shop.open()])
  })

  afterAll(async () => {
    await browser?.close()
    await shop?.[Symbol.asyncDispose]()
  })

  async function commandSays(...args: readonly string[]): Promise<string> {
    const { stdout, stderr } = await runFairlead(['explain', ...args, `--server=${shop.daemon.metricsUrl}`], {
      env: { COLUMNS: '100' },
    })
    return stdout + stderr
  }

  test('says what the command says, and its address can be shared', async () => {
    await using watched = await WatchedPage.open(browser, `${shop.url}/explain`)
    const { page } = watched
    await watched.isLive()
    await page.getByLabel('To').fill('service/web')
    await page.getByLabel('From').fill('outside')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByRole('heading', { level: 2 }).first().waitFor()
    await isAtRest(page)
    const shown = await textOf(watched)
    expect(withoutCounts(shown)).toBe(withoutCounts(await commandSays('service/web', '--from=outside')))

    await using shared = await WatchedPage.open(browser, page.url())
    await isAtRest(shared.page)
    expect(withoutCounts(await textOf(shared))).toBe(withoutCounts(shown))
    expect(await shared.page.getByLabel('To').inputValue()).toBe('service/web')
    expect(shared.problems).toEqual([])
  })

  test('says what is wrong with a question in the words of the command', async () => {
    await using watched = await WatchedPage.open(browser, `${shop.url}/explain?target=10.96.0.300:80`)
    const said = await watched.page.getByRole('alert').innerText()
    expect(await commandSays('10.96.0.300:80')).toContain(said.replace(/\.$/, ''))
  })

  /** The text of the command, which is below the steps. */
  async function textOf({ page }: WatchedPage): Promise<string> {
    const text = page.locator('main pre').last()
    if (!(await text.isVisible())) await page.locator('main summary').last().click()
    return text.innerText()
  }
})

/** Traffic and times go on between two questions. */
function withoutCounts(text: string): string {
  return text.trim().replaceAll(/\d+(?:\.\d+)? (?:ms|s)\b/g, 'N s')
}
