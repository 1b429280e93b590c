/* python.c - calls Python callbacks without losing exceptions.
 *
 * Idea       Python runs a signal handler, which may raise, at the first instruction of the next Python function. In
 *            a callback, that is before any `try`, so ctypes prints the exception and drops it. Therefore the
 *            function is called from C, which keeps the exception. Only Python calls this code, so Python's
 *            functions exist in the process. They are looked up by name, and nothing is linked.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"

typedef struct python {
  void *(*call)(void *function, void *args);
  void *(*item)(void *tuple, ssize_t i);
  void *(*number)(long n);
  void *(*type_of)(void *object);
  void (*fetch)(void **type, void **value, void **trace);
  void (*normal)(void **type, void **value, void **trace);
  void (*raise)(void *type, void *value);
  int (*set_trace)(void *value, void *trace);
  int (*append)(void *list, void *value);
  int (*later)(int (*function)(void *), void *arg);
  void (*drop)(void *object);
  void *none;
} python;

/* Which of Python's symbols to load: TO_CALL for those that call a function, ALL for all of them. */
enum { TO_CALL = 2, ALL = 12 };

static bool load_python_symbols(python *p, size_t n) {
  const struct {
    const char *name;
    void *at;
  } all[] = {{"PyObject_CallObject", &p->call}, {"PyTuple_GetItem", &p->item},
             {"PyLong_FromLong", &p->number},   {"PyObject_Type", &p->type_of},
             {"PyErr_Fetch", &p->fetch},        {"PyErr_NormalizeException", &p->normal},
             {"PyErr_SetObject", &p->raise},    {"PyException_SetTraceback", &p->set_trace},
             {"PyList_Append", &p->append},     {"Py_AddPendingCall", &p->later},
             {"Py_DecRef", &p->drop},           {"_Py_NoneStruct", &p->none}};
  _Static_assert(sizeof all / sizeof *all == ALL, "the table has them all");
  for (size_t i = 0; i < n; i++) {
    void *const symbol = dlsym(RTLD_DEFAULT, all[i].name);
    if (!symbol) return false;
    *(void **)all[i].at = symbol;
  }
  return true;
}

/* Takes the current exception from the interpreter and returns it, with its traceback. */
static void *take_exception(const python *p) {
  void *type = NULL, *value = NULL, *trace = NULL;
  p->fetch(&type, &value, &trace);
  p->normal(&type, &value, &trace);
  if (value && trace) p->set_trace(value, trace);
  p->drop(type);
  p->drop(trace);
  return value;
}

static void raise_exception(const python *p, void *value) {
  void *const type = p->type_of(value);
  p->raise(type, value);
  p->drop(type);
  p->drop(value);
}

/* Raises an exception. Python runs this function in the main thread, between two instructions. */
static int raise_it(void *value) {
  python p;
  if (!load_python_symbols(&p, ALL)) return 0;
  raise_exception(&p, value);
  return -1;
}

void *tutti_python_guard(void *self, void *args) {
  python p;
  if (!load_python_symbols(&p, TO_CALL)) return NULL;
  void *const function = p.item(self, 0), *const list = p.item(self, 1);
  void *result = p.call(function, args);
  if (result || !load_python_symbols(&p, ALL)) return result;
  void *value = take_exception(&p);
  if (list != p.none) {
    p.append(list, value);
    p.drop(value);
    return p.number(1);
  }
  const bool is_main = syscall(SYS_gettid) == getpid(); /* only this thread runs handlers */
  if (is_main && !(result = p.call(function, args))) p.drop(take_exception(&p));
  if (!is_main || p.later(raise_it, value)) { /* too many are pending: print this one */
    p.drop(result);
    raise_exception(&p, value);
    return NULL;
  }
  return result ? result : p.number(1);
}
