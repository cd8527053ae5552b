#!/usr/bin/env python3
"""The page of `weft view` in a browser, clicked and typed on: view_page.py BUILD_FOLDER TESTS_FOLDER [FOLDER_FOR_SCREENSHOTS]

Needs Chromium and Selenium (Debian: chromium, chromium-driver, python3-selenium); ends with 77 where they aren't there. Closes with
`N passed, N failed`.
"""
import os, shutil, subprocess, sys, tempfile, time
try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print("there is no Selenium here")
    sys.exit(77)
if not shutil.which("chromium") or not shutil.which("chromedriver"):
    print("there is no Chromium here")
    sys.exit(77)
build, data = sys.argv[1:3]
pictures = sys.argv[3] if len(sys.argv) > 3 else None
passed, failed = 0, []

PROGRAM = """{ lambda ; a:f32[64,32] b:f32[32,16] c:f32[16]. let
    d:f32[64,16] = dot_general[dimension_numbers=(([1], [0]), ([], [])) preferred_element_type=float32] a b
    e:f32[1,16] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(1, 16) sharding=None] c
    f:f32[64,16] = add d e
    g:f32[64,16] = tanh f
    h:f32[64,16] = scan[jaxpr={ lambda ; i:f32[64,16]. let j:f32[64,16] = sin i; k:f32[64,16] = mul j 0.5:f32[] in (k,) } length=8 num_carry=1] g
    l:f32[] = reduce_sum[axes=(0, 1) out_sharding=None] h
    m:f32[] = mul l l
    n:f32[] = mul l l
    o:f32[] = add m n
  in (o,) }
"""


def check(name, good, *told):
    global passed
    if good:
        passed += 1
    else:
        failed.append(name)
        print(f"{name}:", *told)


def page_of(top):
    with open(top + "/model.jaxpr", "w") as f:
        f.write(PROGRAM)
    env = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    p = subprocess.run([f"{build}/tools/weft", "view", "model.jaxpr"], capture_output=True, text=True, timeout=300, cwd=top, env=dict(env, WEFT_CACHE="0"))
    check("weft view", p.returncode == 0 and p.stdout == "model.html\n", p.stdout, p.stderr)
    return "file://" + top + "/model.html"


def browser(top, dark=False):
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1500,900", f"--user-data-dir={top}/profile{dark}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if dark:
        options.add_argument("--force-dark-mode")
    return webdriver.Chrome(service=webdriver.chrome.service.Service(shutil.which("chromedriver")), options=options)


def find(b, selector):
    return b.find_elements(By.CSS_SELECTOR, selector)


def shown(b, selector):
    return [e for e in find(b, selector) if e.is_displayed()]


def press(b, *keys):
    for k in keys:
        webdriver.ActionChains(b).send_keys(k).perform()


def snap(b, name):
    if pictures:
        b.save_screenshot(f"{pictures}/{name}.png")


def clicks(b, url):
    b.get(url)
    check("nothing is wrong on the page", not [e for e in b.get_log("browser") if e["level"] == "SEVERE"], b.get_log("browser"))
    check("the title", b.title == "model" and find(b, "#title")[0].text == "model")
    stages = [e.text for e in find(b, "#stages button")]
    check("stages", len(stages) >= 2 and stages[0].startswith("traced") and stages[-1].startswith("simplify"), stages)
    check("the last stage is shown", find(b, "#stages button")[-1].get_attribute("aria-current") == "true")
    find(b, "#stages button")[0].click()
    equations = shown(b, "#programs .eqn")
    check("equations of the program, and of the loop in it", len(equations) == 11, [e.text for e in equations])
    snap(b, "start")
    # An equation: its line, its step, its code.
    tanh = next(e for e in equations if " = tanh" in e.text)
    tanh.click()
    check("a click chooses", "chosen" in find(b, "#programs .eqn.chosen")[0].get_attribute("class") and "tanh" in find(b, "#programs .eqn.chosen")[0].text)
    chosen_line = find(b, ".source .chosen")
    check("its line is shown", len(chosen_line) == 1 and "tanh" in chosen_line[0].text, [e.text for e in chosen_line])
    press(b, "2")
    check("its kernel's loops", "tanh" in find(b, "#inspector pre.code")[0].text)
    snap(b, "code")
    for name, word in (("Assembly", "%"), ("LLVM", "define ")):
        next(e for e in find(b, "[data-code]") if e.text == name).click()
        check(f"its {name}", word in find(b, "#inspector pre.code")[0].text, find(b, "#inspector pre.code")[0].text[:200])
    # Steps.
    press(b, "3")
    rows = find(b, "tr.step")
    check("steps have times and costs", len(rows) >= 2 and all("%" in r.text and "s" in r.text for r in rows), [r.text for r in rows])
    find(b, "#stages button")[-1].click()
    find(b, "tr.step")[0].click()
    check("a step's equations are marked", len(find(b, "#programs .eqn.same")) >= 1)
    snap(b, "steps")
    press(b, "4")
    press(b, "j")
    check("j goes to the first equation", len(find(b, "#programs .eqn.chosen")) == 1 and "Parameters" in find(b, "#inspector")[0].text or "kind" in find(b, "#inspector")[0].text)
    first = find(b, "#programs .eqn.chosen")[0].get_attribute("data-id")
    press(b, "j")
    check("j goes on", find(b, "#programs .eqn.chosen")[0].get_attribute("data-id") != first)
    press(b, "k")
    check("k goes back", find(b, "#programs .eqn.chosen")[0].get_attribute("data-id") == first)
    # Stages by key, folding, comparing, the graph.
    press(b, *["h"] * len(stages))
    check("h goes to the first stage", find(b, "#stages button")[0].get_attribute("aria-current") == "true")
    press(b, "f")
    check("f folds", len(shown(b, "#programs .eqn")) == 9, len(shown(b, "#programs .eqn")))
    press(b, "f")
    check("f unfolds", len(shown(b, "#programs .eqn")) == 11)
    find(b, "#stages button")[-1].click()
    press(b, "c")
    check("c compares", len(find(b, "#programs .program")) == 2 and find(b, "#programs .gone, #programs .new"))
    snap(b, "compare")
    press(b, "c", "g")
    check("g draws the graph", find(b, "#graph svg") and find(b, "#graph")[0].is_displayed() and not find(b, "#programs")[0].is_displayed())
    snap(b, "graph")
    press(b, "g")
    # Search.
    press(b, "/")
    check("/ goes to the search", b.switch_to.active_element.get_attribute("id") == "search")
    find(b, "#search")[0].send_keys("mul f32[]")
    visible = shown(b, "#programs .eqn")
    check("the search leaves what it finds", 0 < len(visible) < len(find(b, "#programs .eqn")) and all("mul" in e.text for e in visible), [e.text for e in visible])
    snap(b, "search")
    find(b, "#search")[0].send_keys(Keys.ENTER)
    check("Enter goes to what was found", "mul" in find(b, "#programs .eqn.chosen")[0].text)
    press(b, Keys.ESCAPE)
    check("Escape ends the search", not find(b, "#programs .eqn.hidden, #programs .eqn.chosen") and find(b, "#search")[0].get_attribute("value") == "")
    # Variables, theme, help.
    v = next(e for e in find(b, "#programs .v") if e.is_displayed())
    webdriver.ActionChains(b).move_to_element(v).perform()
    time.sleep(0.1)
    name = v.get_attribute("data-v")
    check("a variable's uses light up", len(find(b, ".v.lit")) == len(find(b, f'#programs .v[data-v="{name}"]')) >= 2)
    ground = b.execute_script("return getComputedStyle(document.body).backgroundColor")
    press(b, "t")
    check("t changes the theme", b.execute_script("return getComputedStyle(document.body).backgroundColor") != ground)
    snap(b, "dark")
    press(b, "?")
    check("? shows the keys", find(b, "#keys")[0].get_attribute("open") is not None)
    press(b, Keys.ESCAPE)
    b.set_window_size(600, 900)
    check("a narrow window scrolls in one direction", b.execute_script("return document.documentElement.scrollWidth <= window.innerWidth + 1"))
    snap(b, "narrow")
    check("nothing went wrong", not [e for e in b.get_log("browser") if e["level"] == "SEVERE"])


with tempfile.TemporaryDirectory() as top:
    url = page_of(top)
    b = browser(top)
    try:
        clicks(b, url)
    finally:
        b.quit()
print("".join(f"failed: {f}\n" for f in failed) + f"{passed} passed, {len(failed)} failed")
sys.exit(bool(failed))
