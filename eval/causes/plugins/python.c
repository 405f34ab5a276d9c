/* CPython extension module: a function that takes long. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "lag.h"

PyObject *lag_score(PyObject *self, PyObject *number);

PyObject *lag_score(PyObject *self, PyObject *number)
{
	(void)self;
	LAG_SPIN();
	Py_INCREF(number);
	return number;
}

static PyMethodDef methods[] = { { "score", lag_score, METH_O, "" }, { 0 } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "lag", "", -1, methods, NULL, NULL, NULL, NULL };

PyMODINIT_FUNC PyInit_lag(void)
{
	return PyModule_Create(&module);
}
